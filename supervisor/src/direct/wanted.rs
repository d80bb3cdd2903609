//! From a call's arguments to what is asked of the workers: reads, and writes behind the gate.
//! Trust: arguments are an agent's; they were held against the rows, and are held against the guards here.

use super::{guards::Guards, reads::Form, writes::Write};
use crate::{
    control::Control,
    mcp::{
        call::{Prepared, refused_arguments},
        jsonrpc::RpcError,
    },
    outcome::CallError,
    proposals::Asker,
    reads::{Question, Reads},
    settings::Settings,
    work::{Done, Work},
};
use bulkhead_contract::{
    args::{self, Checked},
    canonical,
    direct::{self, Class, gate::Gate},
    failure::code,
    tool::{Tool, Toolset},
};
use bulkhead_ipc::edge::asks::ConflictChoice;
use serde_json::{Value, json};

/// One call.
#[derive(Debug, Clone)]
pub struct Direct {
    /// Its tool.
    pub tool: &'static Tool,
    /// What it wants.
    pub wanted: Wanted,
    /// SHA-256 over tool name and canonical arguments.
    pub fingerprint: [u8; 32],
    /// Bytes that it holds until it is done, of a write.
    pub held: usize,
}

/// What a call wants.
#[derive(Debug, Clone)]
pub enum Wanted {
    /// An answer of the repository's worker, in a form.
    Read(Form),
    /// A write.
    Write(Write),
}

/// Checks a call in the contract's order: types, gate, guards.
///
/// # Errors
/// -32602 with everything that is wrong, or with the gate's refusal.
pub fn prepare(tool: &'static Tool, arguments: &Value, settings: &Settings) -> Result<Prepared, RpcError> {
    let settled = direct::args::settled(tool, arguments);
    let checked = args::check(tool, &settled).map_err(|violations| refused_arguments(tool, &violations))?;
    let own = &settings.direct;
    if !own.gate.lets(tool.name) {
        return Err(gated(tool, &own.gate));
    }
    let mut guards = Guards::default();
    let wanted = wanted(tool, &checked, &mut guards);
    guards.end().map_err(|violations| refused_arguments(tool, &violations))?;
    let wanted = wanted
        .ok_or_else(|| RpcError::new(code::INTERNAL, "Internal error", format!("nothing answers {}", tool.name)))??;
    let fingerprint = canonical::digest([&Value::from(tool.name), &settled]);
    let held = if tool.annotations.read_only { 0 } else { settled.to_string().len() };
    Ok(Prepared { tool, work: Work::Direct(Box::new(Direct { tool, wanted, fingerprint, held })) })
}

/// The refusal of a closed gate.
fn gated(tool: &Tool, gate: &Gate) -> RpcError {
    let also = match gate {
        Gate::Tools(names) if !names.is_empty() => format!(" It allows {}.", names.join(", ")),
        _ => String::new(),
    };
    let message = format!(
        "`{}` writes, and the operator of this server has not allowed it (`--allow-write`, `--allow-tools {}`).{also} Do not look \
         for another way: ask the person.",
        tool.name, tool.name
    );
    let data =
        json!({ "tool": tool.name, "class": Class::Refused.name(), "flag": format!("--allow-tools {}", tool.name) });
    RpcError { code: code::INVALID_PARAMS, message, data: Some(data) }
}

/// A tool that Git has nothing for.
fn unsupported(tool: &Tool, why: &str) -> RpcError {
    let data = json!({ "tool": tool.name, "class": Class::Unsupported.name(), "backend": "git" });
    RpcError {
        code: code::INVALID_PARAMS,
        message: format!("`{}` is not supported with Git: {why}", tool.name),
        data: Some(data),
    }
}

/// `None` for a tool without a plan; the inner error for one that Git has nothing for.
fn wanted(tool: &Tool, checked: &Checked<'_>, guards: &mut Guards) -> Option<Result<Wanted, RpcError>> {
    match tool.name {
        "repo_op_log" => {
            return Some(Err(unsupported(
                tool,
                "it keeps no log of operations. repo_restore_points has what can be gone back to.",
            )));
        }
        "repo_undo" => return Some(Err(unsupported(tool, "use repo_restore with an id of repo_restore_points."))),
        _ => {}
    }
    match tool.toolset {
        Toolset::Write => Write::plan(tool.name, checked, guards).map(|write| Ok(Wanted::Write(write))),
        _ => Form::plan(tool.name, checked, guards).map(|form| Ok(Wanted::Read(form))),
    }
}

/// The side that a word names; `side` itself names one of Jujutsu's alone.
pub(super) fn choice(checked: &Checked<'_>, guards: &mut Guards) -> Option<ConflictChoice> {
    let named = checked.integer("index").is_some();
    let choice = match checked.text("side")? {
        "ours" => ConflictChoice::Ours,
        "theirs" => ConflictChoice::Theirs,
        "base" => ConflictChoice::Base,
        _ => {
            guards.say("side", "must be `ours`, `theirs` or `base`: numbered sides are of Jujutsu's conflicts");
            return None;
        }
    };
    if named {
        guards.say("index", "must be left out with a named side");
    }
    Some(choice)
}

impl Direct {
    /// Does it.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn done<R: Reads>(
        self,
        reads: &R,
        settings: &Settings,
        asker: Asker<'_>,
        control: Control,
    ) -> Result<Done, CallError> {
        let Direct { tool, wanted, fingerprint, .. } = self;
        let own = &settings.direct;
        let question = |ask| Question { path: own.root.clone(), ask, fingerprint };
        match wanted {
            Wanted::Read(form) => form.answered(reads, own, question, control).await,
            Wanted::Write(write) => write.done(tool.name, question, (reads, settings), asker, control).await,
        }
    }
}
