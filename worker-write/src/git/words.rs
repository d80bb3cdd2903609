//! The words and variables that every run of Git is given, whatever it is to do.
//! Trust: constant; the repository's configuration is what they outrank.

/// Options that stand before every subcommand, in `-c` form. They outrank what the repository's own configuration says:
/// nothing of it may name a program, reach another directory, or change more than what was asked for. The jail holds where
/// one is forgotten; with them, an honest repository that names programs can be worked on.
pub(super) const PINS: &[(&str, &str)] = &[
    // programs
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.pager", "cat"),
    ("core.editor", ":"),
    ("sequence.editor", ":"),
    ("core.askPass", ""),
    ("core.alternateRefsCommand", ""),
    ("core.gitProxy", ""),
    ("gpg.program", "/dev/null"),
    ("gpg.ssh.program", "/dev/null"),
    ("gpg.x509.program", "/dev/null"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("tag.forceSignAnnotated", "false"),
    ("push.gpgSign", "false"),
    ("merge.verifySignatures", "false"),
    ("log.showSignature", "false"),
    // work that nobody asked for
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("rerere.enabled", "false"),
    ("rerere.autoUpdate", "false"),
    ("rebase.autoStash", "false"),
    ("rebase.autoSquash", "false"),
    ("rebase.updateRefs", "false"),
    ("rebase.rebaseMerges", "false"),
    ("rebase.backend", "merge"),
    ("merge.autoStash", "false"),
    ("merge.branchdesc", "false"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("fetch.prune", "false"),
    ("fetch.pruneTags", "false"),
    ("fetch.writeCommitGraph", "false"),
    ("push.recurseSubmodules", "no"),
    ("push.followTags", "false"),
    // what a tree may hold is the same for everybody who has it
    ("core.protectHFS", "true"),
    ("core.protectNTFS", "true"),
    // how it speaks
    ("color.ui", "false"),
    ("column.ui", "never"),
    ("core.quotePath", "true"),
    ("i18n.logOutputEncoding", "UTF-8"),
    ("protocol.allow", "never"),
];

/// What the repository may not say and the operator may: before the operator's settings, of which the last counts.
pub(super) const OPERATORS: &[(&str, &str)] = &[
    // an empty one forgets those before it
    ("credential.helper", ""),
    ("http.sslVerify", "true"),
    ("http.proxy", ""),
    ("http.extraHeader", ""),
];

/// Which ways to a remote fetch and push have; every other is refused by the pin of `protocol.allow`.
pub(super) const PROTOCOLS: &[(&str, &str)] = &[
    ("protocol.file.allow", "always"),
    ("protocol.https.allow", "always"),
    ("protocol.ssh.allow", "always"),
    ("protocol.version", "2"),
];

/// The environment, built from nothing. `PATH` leads nowhere: Git finds its own programs in its own directory.
pub(super) const ENVIRONMENT: &[(&str, &str)] = &[
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", ":"),
    ("GIT_SEQUENCE_EDITOR", ":"),
    ("GIT_ASKPASS", ""),
    ("SSH_ASKPASS", ""),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("GIT_PAGER", "cat"),
    ("GIT_ADVICE", "0"),
    ("GIT_MERGE_AUTOEDIT", "no"),
    // looking must not write the index
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("LC_ALL", "C"),
    ("HOME", "/nonexistent"),
    ("PATH", "/nonexistent"),
];

/// Keys of the operator's own configuration that the repository's outrank, as they do for the operator's own git.
pub(crate) const YIELDING: &[&str] = &[
    "user.name",
    "user.email",
    "author.name",
    "author.email",
    "committer.name",
    "committer.email",
    "core.autocrlf",
    "core.eol",
    "core.safecrlf",
    "merge.conflictstyle",
];
