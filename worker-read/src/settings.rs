//! The configuration values that change what a status means, resolved once per opened repository.
//! Trust: repository configuration is hostile: only booleans and enumerations are taken from it, never a path or program.

use crate::operator_config::OperatorConfig;
use gix::{
    bstr::{BStr, BString},
    filter::plumbing::eol,
};

/// Values of `core.*`, the repository's own first and the operator's where it has none.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// `core.fileMode`.
    pub file_mode: bool,
    /// `core.symlinks`.
    pub symlinks: bool,
    /// `core.ignoreCase`.
    pub ignore_case: bool,
    /// `core.trustctime`.
    pub trust_ctime: bool,
    /// `core.checkStat` is not `minimal`.
    pub check_stat: bool,
    /// `core.bare`.
    pub bare: bool,
    /// `core.sparseCheckout` is on and files outside of it are not expected: one that is there counts.
    pub sparse_checkout: bool,
    /// `core.autocrlf` and `core.eol`.
    pub eol: eol::Configuration,
}

impl Settings {
    /// From `config`, with `operator`'s values below it.
    #[must_use]
    pub fn resolve(config: &gix::config::File, operator: &OperatorConfig) -> Self {
        let boolean = |key: &str, default| config.boolean(key).ok().flatten().unwrap_or(default);
        let string = |key: &str, below: &Option<BString>| config.string(key).or_else(|| below.clone());
        Self {
            file_mode: boolean("core.fileMode", cfg!(unix)),
            symlinks: boolean("core.symlinks", cfg!(unix)),
            ignore_case: boolean("core.ignoreCase", false),
            trust_ctime: boolean("core.trustctime", true),
            check_stat: config.string("core.checkStat").is_none_or(|value| !value.eq_ignore_ascii_case(b"minimal")),
            bare: boolean("core.bare", false),
            sparse_checkout: boolean("core.sparseCheckout", false)
                && !boolean("sparse.expectFilesOutsideOfPatterns", false),
            eol: eol::Configuration {
                auto_crlf: autocrlf(config, operator),
                eol: match string("core.eol", &operator.eol).as_deref().map(|v| v.to_ascii_lowercase()).as_deref() {
                    Some(b"lf") => Some(eol::Mode::Lf),
                    Some(b"crlf") => Some(eol::Mode::CrLf),
                    _ => None,
                },
            },
        }
    }

    /// How names are matched against patterns.
    #[must_use]
    pub fn case(&self) -> gix::glob::pattern::Case {
        if self.ignore_case { gix::glob::pattern::Case::Fold } else { gix::glob::pattern::Case::Sensitive }
    }
}

fn autocrlf(config: &gix::config::File, operator: &OperatorConfig) -> eol::AutoCrlf {
    // a key without a value means true, and the typed accessors alone know of it
    let own = match config.boolean("core.autocrlf") {
        Ok(Some(on)) => Some(BString::from(if on { "true" } else { "false" })),
        _ => config.string("core.autocrlf"),
    };
    let value = own.or_else(|| operator.autocrlf.clone());
    let Some(value) = value else { return eol::AutoCrlf::Disabled };
    let value: &BStr = value.as_ref();
    if value.eq_ignore_ascii_case(b"input") {
        return eol::AutoCrlf::Input;
    }
    match gix::config::Boolean::try_from(value.to_owned()) {
        Ok(on) if on.0 => eol::AutoCrlf::Enabled,
        _ => eol::AutoCrlf::Disabled,
    }
}
