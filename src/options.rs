//! From flags and environment to what the launcher's table and the supervisor's settings hold.
//! Trust: the operator's own words; every value is checked here once, and nothing later changes it.

use crate::{
    agents, audit,
    cli::{self, Flags},
    env, gateway,
    roots::{self, Ceiling},
    run_dir::{self, RunDirs},
};
use bulkhead_contract::{catalogue::Surface, isolation::Demand, limits, tool::Toolset};
use bulkhead_ipc::edge::{
    Inits,
    read::{Init, OwnerTrust},
    syntax, write,
};
use bulkhead_supervisor::settings::{LogLevel, OutputSchemas, RootsInvalid, Settings, ToolNames};
use clap::ValueEnum;
use std::{ffi::OsString, path::PathBuf, time::Duration};

/// Idle workers are stopped after this; their caches are then gone, so it is longer than a thinking pause.
const IDLE_STOP: Duration = Duration::from_secs(300);
/// Cores that one repository or one call may use at most.
const MAX_CORES: usize = 4;
/// Private writable memory of a worker-syntax at most: the tree of the largest source takes a part of it.
const SYNTAX_MEMORY: u64 = 512 << 20;

/// Everything that the front door settles.
#[derive(Debug)]
pub struct Options {
    /// For the supervisor.
    pub settings: Settings,
    /// For the launcher's table, worker-read's row without a path.
    pub inits: Inits,
    /// Of the ledger, for the commands about it.
    pub audit: audit::Settled,
    /// For `doctor`.
    pub ceiling: Ceiling,
    /// For `doctor` and everything that outlives a session; not created by asking.
    pub run_dir: Option<PathBuf>,
    /// File in which the direct surface logs commands.
    pub command_log: Option<PathBuf>,
    /// What the operator should know, and nothing fails for.
    pub complaints: Vec<String>,
}

/// The operator's words do not hold together.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unusable(String);

/// Settles flags, then environment, then defaults. `served`: directories of the one repository that is served, which are
/// allowed whatever the roots are.
///
/// # Errors
/// One sentence that names the flag or variable and what it accepts.
pub fn settle_on(flags: &Flags, surface: Surface, served: &[PathBuf]) -> Result<Options, Unusable> {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    let cwd = std::env::current_dir().ok();
    let ceiling = roots::settle(&flags.roots, cwd.as_deref(), home.as_deref()).with(served);
    let demand = demand(flags)?;
    let RunDirs { own: run_dir, settings: run_dirs, mut complaints } =
        run_dir::settle(flags.run_dir.as_deref(), cwd.as_deref(), home.as_deref()).map_err(Unusable)?;
    let megabytes =
        number(flags.worker_memory, &env::WORKER_MEMORY, 64..=1_048_576, limits::DEFAULT_WORKER_MEMORY >> 20)?;
    let named = (flags.gateway.as_deref(), flags.gateway_token_file.as_deref());
    let gateway = gateway::settle(named, demand, cwd.as_deref(), megabytes, &mut complaints).map_err(Unusable)?;
    let audit = audit::settle(flags, demand, run_dir.as_deref(), cwd.as_deref()).map_err(Unusable)?;
    let there = run_dirs.iter().filter(|dir| dir.exists);
    let told_run_dirs = there.map(|dir| bytes(dir.path.clone().into())).collect();
    let cores = bulkhead_sandbox::identity::processors().min(MAX_CORES);
    let about_agents = agents::settings(&run_dirs);
    let settings = Settings {
        demand,
        standing: Default::default(),
        surface,
        direct: Default::default(),
        deadline: Duration::from_secs(number(flags.deadline, &env::DEADLINE, 1..=3600, limits::DEFAULT_DEADLINE_SECS)?),
        tool_names: match choice(flags.tool_names, &env::TOOL_NAMES).map_err(Unusable)?.unwrap_or(cli::ToolNames::Auto)
        {
            cli::ToolNames::Auto => ToolNames::Auto,
            cli::ToolNames::Dotted => ToolNames::Dotted,
            cli::ToolNames::Underscore => ToolNames::Underscore,
        },
        output_schemas: match flags.output_schemas.unwrap_or(cli::OutputSchemas::Brief) {
            cli::OutputSchemas::Full => OutputSchemas::Full,
            cli::OutputSchemas::Brief => OutputSchemas::Brief,
            cli::OutputSchemas::None => OutputSchemas::None,
        },
        listed_tools: listed(flags, surface)?,
        workers_per_repository: cores,
        max_workers: limits::MAX_READ_WORKERS,
        idle_stop: IDLE_STOP,
        roots_text: ceiling.directories.iter().map(|dir| dir.display().to_string()).collect(),
        roots_invalid: ceiling.invalid.clone().map(|details| RootsInvalid { source: ceiling.source.clone(), details }),
        run_dirs,
        agents: about_agents,
        gateway: gateway.address,
        gateway_token: gateway.token.is_some(),
        audit: audit.settings.clone(),
        log: match choice(flags.log, &env::LOG).map_err(Unusable)?.unwrap_or(cli::Log::Warn) {
            cli::Log::Warn => LogLevel::Warn,
            cli::Log::Info => LogLevel::Info,
            cli::Log::Debug => LogLevel::Debug,
        },
        empty_root: flags.empty_root,
        log_json: flags.log_format == Some(cli::LogFormat::Json),
    };
    let init = Init {
        demand,
        empty_root: flags.empty_root,
        ceilings: ceiling.directories.iter().map(|dir| bytes(dir.clone().into_os_string())).collect(),
        run_dirs: told_run_dirs,
        path: None,
        trust: trust(flags)?,
        home: home.clone().map(bytes),
        xdg_config_home: std::env::var_os("XDG_CONFIG_HOME").filter(|dir| !dir.is_empty()).map(bytes),
        memory: megabytes << 20,
        threads: u32::try_from(cores).unwrap_or(1),
    };
    let (agents, note) = agents::settle(demand, home.as_deref(), &settings.run_dirs);
    let syntax = syntax::Init { demand, memory: (megabytes << 20).min(SYNTAX_MEMORY) };
    // the gate stays closed until the front door that serves the one repository opens it
    let write = write::Init::closed(demand);
    let inits = Inits { read: init, audit: audit.init.clone(), agents, note, gateway, syntax, write };
    Ok(Options { settings, inits, audit, ceiling, run_dir, command_log: None, complaints })
}

fn demand(flags: &Flags) -> Result<Demand, Unusable> {
    let asked = match choice(flags.isolation, &env::ISOLATION).map_err(Unusable)? {
        Some(cli::Isolation::Required) => Some(Demand::Required),
        Some(cli::Isolation::BestEffort) => Some(Demand::BestEffort),
        Some(cli::Isolation::Off) => Some(Demand::Off),
        None => None,
    };
    if cfg!(target_os = "linux") {
        return Ok(asked.unwrap_or(Demand::Required));
    }
    match asked {
        // a demand that this system cannot meet is refused, never quietly lowered
        Some(Demand::Required) => Err(Unusable(
            "--isolation required cannot be met on this system: worker processes need Linux; use --isolation off"
                .into(),
        )),
        _ => Ok(Demand::Off),
    }
}

fn trust(flags: &Flags) -> Result<OwnerTrust, Unusable> {
    let source = source_of(!flags.trust_owner.is_empty(), &env::TRUST_OWNER);
    let words: Vec<String> = if flags.trust_owner.is_empty() {
        let text = env::TRUST_OWNER.text().map_err(Unusable)?.unwrap_or_default();
        text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    } else {
        flags.trust_owner.clone()
    };
    let mut trust = OwnerTrust::default();
    for word in words {
        match word.parse() {
            _ if word == "any" => trust.any = true,
            Ok(uid) => trust.uids.push(uid),
            Err(_) => return Err(Unusable(format!("{source} {word:?}: a numeric user id, or any"))),
        }
    }
    // as Git does: root trusts the user who became root
    if bulkhead_sandbox::identity::is_root() {
        trust.uids.extend(std::env::var("SUDO_UID").ok().and_then(|uid| uid.parse::<u32>().ok()));
    }
    Ok(trust)
}

fn listed(flags: &Flags, surface: Surface) -> Result<Option<Vec<&'static str>>, Unusable> {
    let tools = words(&flags.tools, &env::TOOLS)?;
    let sets = words(&flags.toolsets, &env::TOOLSETS)?;
    if tools.is_empty() && sets.is_empty() {
        return Ok(None);
    }
    let mut names = Vec::new();
    for set in &sets {
        let toolset = Toolset::named(set).filter(|toolset| surface.tools().any(|tool| tool.toolset == *toolset));
        let Some(toolset) = toolset else {
            let known = Toolset::ALL.into_iter().filter(|known| surface.tools().any(|tool| tool.toolset == *known));
            let known: Vec<&str> = known.map(Toolset::name).collect();
            let source = source_of(!flags.toolsets.is_empty(), &env::TOOLSETS);
            return Err(Unusable(format!("{source} {set:?}: no such group; there are: {}", known.join(", "))));
        };
        names.extend(surface.tools().filter(|tool| tool.toolset == toolset).map(|tool| tool.name));
    }
    for name in &tools {
        let source = source_of(!flags.tools.is_empty(), &env::TOOLS);
        let row = surface
            .find(name)
            .ok_or_else(|| Unusable(format!("{source} {name:?}: no such tool; `bulkhead tools` lists them")))?;
        names.push(row.name);
    }
    Ok(Some(names))
}

/// What a complaint about a value names: the flag, or the variable that stood in for it.
fn source_of(flag_given: bool, variable: &'static env::Variable) -> &'static str {
    if flag_given { variable.flag } else { variable.name }
}

fn words(flag: &[String], variable: &env::Variable) -> Result<Vec<String>, Unusable> {
    let words = if flag.is_empty() {
        variable.text().map_err(Unusable)?.unwrap_or_default().split(',').map(str::to_owned).collect()
    } else {
        flag.to_vec()
    };
    Ok(words.into_iter().map(|word: String| word.trim().to_owned()).filter(|word| !word.is_empty()).collect())
}

/// The choice that a flag, else a variable, spells.
///
/// # Errors
/// One sentence that names the variable and what it accepts.
pub fn choice<T: ValueEnum>(flag: Option<T>, variable: &env::Variable) -> Result<Option<T>, String> {
    if flag.is_some() {
        return Ok(flag);
    }
    let Some(text) = variable.text()? else { return Ok(None) };
    T::from_str(&text, false).map(Some).map_err(|_| {
        let known: Vec<String> =
            T::value_variants().iter().filter_map(|v| Some(v.to_possible_value()?.get_name().to_owned())).collect();
        format!("{}={text:?}: one of {}", variable.name, known.join(", "))
    })
}

fn number(
    flag: Option<u64>,
    variable: &env::Variable,
    range: std::ops::RangeInclusive<u64>,
    default: u64,
) -> Result<u64, Unusable> {
    if let Some(number) = flag {
        return Ok(number);
    }
    let Some(text) = variable.text().map_err(Unusable)? else { return Ok(default) };
    text.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| {
        Unusable(format!("{}={text:?}: a whole number from {} to {}", variable.name, range.start(), range.end()))
    })
}

/// Bytes of a path as they go to a worker.
#[cfg(unix)]
pub fn bytes(text: OsString) -> Vec<u8> {
    std::os::unix::ffi::OsStringExt::into_vec(text)
}

/// Bytes of a path as they go to a worker.
#[cfg(not(unix))]
pub fn bytes(text: OsString) -> Vec<u8> {
    text.into_string().map_or_else(|text| text.to_string_lossy().into_owned().into_bytes(), String::into_bytes)
}
