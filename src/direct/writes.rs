//! What the gate opens: Git and its files, the operator's own settings, and where writes may go. Asked once, at the start.
//! Trust: the operator's flags and own configuration; the repository is named here and not read.

use super::{flags::Words, open::Served};
use crate::{env, options::bytes};
use bulkhead_ipc::edge::write::{Allowed, Init};
use bulkhead_worker_write::{
    operator::{self, Home},
    programs::{self, Surroundings},
};
use std::path::{Path, PathBuf};

/// Where lock files lie in the run directory.
const LOCKS: &str = "locks";
/// Variables by which an operator moves the own Git configuration.
const MOVED: [&str; 3] = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"];

/// What workers that write are told, where the gate is open for any of them. `roots` are what `--root` named.
///
/// # Errors
/// Why nothing can be written: no Git that can be used, or an own configuration that it does not read.
pub fn settle(
    init: Init,
    words: &Words,
    served: &Served,
    roots: &[PathBuf],
    run_dir: Option<&Path>,
) -> Result<Init, String> {
    if !words.gate.is_open() {
        return Ok(init);
    }
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    // beneath its parent, as `git worktree add ../name` has it, where the operator names nothing else
    let beside = served.root.parent().filter(|parent| parent.parent().is_some());
    let lenders = roots.iter().map(|root| bytes(root.clone().into())).collect();
    let roots: Vec<PathBuf> =
        if roots.is_empty() { beside.into_iter().map(Path::to_owned).collect() } else { roots.to_vec() };
    let around = Surroundings {
        named: words.git.clone().or_else(|| env::GIT.read().map(|(path, _)| path.into())),
        path: std::env::var_os("PATH"),
        home: home.clone(),
        roots: roots.iter().chain([&served.root]).cloned().collect(),
        agent: std::env::var_os("SSH_AUTH_SOCK").map(PathBuf::from),
        time_zone: std::env::var("TZ").ok(),
    };
    let mut programs = programs::find(&around).map_err(|e| format!("nothing can be written: {e}"))?;
    let moved = MOVED.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var_os(name)?))).collect();
    let xdg_config_home = std::env::var_os("XDG_CONFIG_HOME").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let home = Home { home, xdg_config_home, moved };
    let own = operator::read_for(&programs, &home, Some(&served.git_dir))
        .map_err(|e| format!("your own Git configuration cannot be read, and writes need it: {e}"))?;
    programs.shared.extend(own.files);
    programs.network_shared.extend(own.network_files);
    programs.network_ports.extend(own.proxy_port);
    let mut pinned = own.pinned;
    if own.signs {
        // no signature is made; whoever commits is told by this that the operator wants one
        pinned.push(("commit.gpgSign".to_owned(), "true".to_owned()));
    }
    if words.filters {
        let filters = programs::with_filters(&mut programs, &own.filters, &around);
        pinned.extend(filters.map_err(|e| format!("--filters user: {e}"))?);
    }
    let hooks_path = own.hooks_path;
    let hooks = if words.hooks {
        let named = hooks_path.as_ref().map(|named| served.root.join(named));
        Some(programs::for_hooks(&programs, named.as_deref(), &around).map_err(|e| format!("--hooks run: {e}"))?)
    } else {
        None
    };
    let allowed = Allowed {
        root: bytes(served.root.clone().into()),
        git_dir: bytes(served.git_dir.clone().into()),
        common_dir: bytes(served.common_dir.clone().into()),
        roots: roots.into_iter().map(|root| bytes(root.into())).collect(),
        lenders,
        locks: run_dir.map(|dir| bytes(dir.join(LOCKS).into())),
        programs,
        pinned,
        hooks_path: hooks_path.map(|named| bytes(named.into())),
        hooks,
        filters: words.filters,
        allow_unsigned: words.allow_unsigned,
        ssh_command: words.ssh_command.clone().or(own.ssh_command),
        trust_repo_ssh_command: words.trust_repo_ssh_command,
        log_commands: words.log_commands.is_some(),
    };
    Ok(Init { allowed: Some(Box::new(allowed)), ..init })
}
