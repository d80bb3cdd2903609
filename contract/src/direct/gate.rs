//! The write gate's one table: what `--allow-tools` may name, what is listed, and what a call is checked against.
//! Trust: constants; names that an operator or a caller wrote are only compared.

/// Tools that change something, or did in an earlier form (`repo_try_merge`, which stays a valid name and needs no gate). The
/// forge tools are of another issue of this product's plan and valid names already, so that one configuration fits all builds.
pub const GATED: [&str; 40] = [
    "forge_issue_add_labels",
    "forge_issue_close",
    "forge_issue_comment",
    "forge_issue_create",
    "forge_issue_edit",
    "forge_issue_remove_labels",
    "forge_issue_reopen",
    "forge_pr_add_labels",
    "forge_pr_approve",
    "forge_pr_checkout",
    "forge_pr_close",
    "forge_pr_comment",
    "forge_pr_create",
    "forge_pr_edit",
    "forge_pr_mark_ready",
    "forge_pr_merge",
    "forge_pr_remove_labels",
    "forge_pr_request_changes",
    "forge_pr_review",
    "forge_release_create",
    "forge_release_delete",
    "repo_abort_in_progress",
    "repo_checkout",
    "repo_commit",
    "repo_continue_in_progress",
    "repo_create_branch",
    "repo_create_worktree",
    "repo_delete_branch",
    "repo_fetch",
    "repo_new_child",
    "repo_push",
    "repo_rebase",
    "repo_remove_worktree",
    "repo_rename_branch",
    "repo_resolve_conflict",
    "repo_restore",
    "repo_tag_create",
    "repo_tag_delete",
    "repo_try_merge",
    "repo_undo",
];

/// What is called although the gate is closed for it, because it writes nothing any more.
pub const ALWAYS: &str = "repo_try_merge";

/// Tools of the contract that talk to forges: known by name, so that a call of one is answered by what is missing.
const FORGE: [&str; 12] = [
    "forge_auth_status",
    "forge_info",
    "forge_issue_list",
    "forge_issue_view",
    "forge_pr_checks",
    "forge_pr_diff",
    "forge_pr_for_branch",
    "forge_pr_list",
    "forge_pr_view",
    "forge_release_list",
    "forge_release_view",
    "forge_repo_view",
];

/// Which gated tools the operator allows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Gate {
    /// None.
    #[default]
    Closed,
    /// These.
    Tools(Vec<&'static str>),
    /// All.
    Open,
}

/// The gated tool of that name, as it is spelled here and nowhere else.
#[must_use]
pub fn named(name: &str) -> Option<&'static str> {
    GATED.into_iter().find(|gated| *gated == name)
}

/// Whether that name is one of the contract's forge tools.
#[must_use]
pub fn is_forge(name: &str) -> bool {
    FORGE.contains(&name) || (name.starts_with("forge_") && named(name).is_some())
}

impl Gate {
    /// Whether a call of the tool of that name is let through.
    #[must_use]
    pub fn lets(&self, name: &str) -> bool {
        match self {
            _ if name == ALWAYS || named(name).is_none() => true,
            Gate::Closed => false,
            Gate::Tools(names) => names.contains(&name),
            Gate::Open => true,
        }
    }

    /// Whether anything is let through that the gate stands before.
    #[must_use]
    pub fn is_open(&self) -> bool {
        GATED.into_iter().any(|name| name != ALWAYS && self.lets(name))
    }
}

/// Names that are spelled out; the rest is counted.
const SPELLED_OUT: usize = 8;

impl std::fmt::Display for Gate {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Gate::Closed => out.write_str("closed"),
            Gate::Open => out.write_str("open"),
            Gate::Tools(names) => {
                write!(out, "open for {}", names[..names.len().min(SPELLED_OUT)].join(" "))?;
                match names.len().checked_sub(SPELLED_OUT) {
                    None | Some(0) => Ok(()),
                    Some(more) => write!(out, " and {more} more"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{direct::TOOLS, tool::Toolset};

    #[test]
    fn the_table_and_the_rows_agree() {
        for tool in TOOLS {
            let gated = named(tool.name).is_some() && tool.name != ALWAYS;
            assert_eq!(gated, tool.toolset == Toolset::Write, "{}", tool.name);
            assert_eq!(gated, !tool.annotations.read_only, "{}", tool.name);
        }
        let rows = GATED.iter().filter(|name| name.starts_with("repo_"));
        assert!(rows.clone().all(|name| TOOLS.iter().any(|tool| tool.name == *name)));
        assert!(GATED.is_sorted() && FORGE.is_sorted());
    }

    #[test]
    fn what_is_not_named_stays_closed() {
        let some = Gate::Tools(vec!["repo_commit"]);
        assert!(some.lets("repo_commit") && some.lets("repo_status") && !some.lets("repo_push"));
        assert!(some.is_open() && !Gate::Closed.is_open() && Gate::Open.is_open());
        assert!(!Gate::Tools(vec![ALWAYS]).is_open());
        assert!(Gate::Closed.lets(ALWAYS) && !Gate::Closed.lets("repo_undo") && Gate::Open.lets("repo_undo"));
        assert_eq!((some.to_string(), Gate::Open.to_string()), ("open for repo_commit".into(), "open".into()));
        assert!(Gate::Tools(GATED.to_vec()).to_string().ends_with(" and 32 more"));
        assert_eq!((named("Repo_commit"), named("repo_status")), (None, None));
        assert!(is_forge("forge_info") && is_forge("forge_pr_merge") && !is_forge("forge_x") && !is_forge("repo_push"));
    }
}
