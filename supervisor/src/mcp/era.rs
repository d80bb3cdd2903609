//! The five revisions of MCP, and which one a request belongs to. Modern requests say so themselves and inherit
//! nothing from earlier ones. Trust: `_meta` is the client's; everything read from it is checked here.

use super::jsonrpc::{Request, RpcError};
use bulkhead_contract::{args::shown, failure::code};
use serde_json::{Value, json};

/// One revision of the protocol. Later ones are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Era {
    /// 2024-11-05; also that of bare requests before any `initialize`.
    Nov2024,
    /// 2025-03-26, the one with batches.
    Mar2025,
    /// 2025-06-18.
    Jun2025,
    /// 2025-11-25.
    Nov2025,
    /// 2026-07-28, stateless.
    Jul2026,
}

impl Era {
    /// Newest first, as `supportedVersions` lists them.
    pub const ALL: [Era; 5] = [Era::Jul2026, Era::Nov2025, Era::Jun2025, Era::Mar2025, Era::Nov2024];

    /// The protocol version.
    #[must_use]
    pub fn version(self) -> &'static str {
        match self {
            Era::Nov2024 => "2024-11-05",
            Era::Mar2025 => "2025-03-26",
            Era::Jun2025 => "2025-06-18",
            Era::Nov2025 => "2025-11-25",
            Era::Jul2026 => "2026-07-28",
        }
    }

    /// What `initialize` agrees on: the version asked for, where it is one that has `initialize`, else the newest such.
    #[must_use]
    pub fn agreed(asked: Option<&str>) -> Era {
        let known = Era::ALL.into_iter().find(|era| Some(era.version()) == asked);
        known.filter(|era| !era.is_modern()).unwrap_or(Era::Nov2025)
    }

    /// Requests are stateless and results carry `resultType` and `serverInfo`.
    #[must_use]
    pub fn is_modern(self) -> bool {
        self == Era::Jul2026
    }

    /// Arrays of messages are accepted.
    #[must_use]
    pub fn has_batches(self) -> bool {
        self == Era::Mar2025
    }

    /// Tools carry annotations.
    #[must_use]
    pub fn has_annotations(self) -> bool {
        self >= Era::Mar2025
    }

    /// Tools carry titles and output schemas, results carry `structuredContent`.
    #[must_use]
    pub fn has_structure(self) -> bool {
        self >= Era::Jun2025
    }

    /// `serverInfo` carries a description.
    #[must_use]
    pub fn has_descriptions(self) -> bool {
        self >= Era::Nov2025
    }
}

/// What the last `initialize` said; holds for legacy requests alone.
#[derive(Debug, Clone, Default)]
pub struct Opened {
    /// The revision agreed on.
    pub era: Option<Era>,
    /// `clientInfo.name`.
    pub client: Option<String>,
    /// `clientInfo.version`.
    pub version: Option<String>,
}

/// Where a request belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// Its revision.
    pub era: Era,
    /// Name of the client that sent it.
    pub client: Option<String>,
    /// Its version.
    pub version: Option<String>,
}

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Key of `serverInfo` in the `_meta` of modern results.
pub const SERVER: &str = "io.modelcontextprotocol/serverInfo";

const LOG_LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// Finds the revision of `request`. Version errors come before everything else, unknown methods included.
///
/// # Errors
/// -32022 for a version that is not stateless or unknown, -32602 for `_meta` that breaks its rules.
pub fn place(request: &Request, opened: &Opened) -> Result<Placed, RpcError> {
    let meta = &request.params["_meta"];
    let named = meta.get(VERSION);
    // `initialize` belongs to the legacy revisions even where a client adds modern `_meta` to it
    let handshake =
        request.method == "initialize" && (named.is_none() || request.params.get("protocolVersion").is_some());
    match named {
        Some(version) if !handshake => place_modern(version, meta),
        _ if request.method == "server/discover" => Err(RpcError::invalid_params(format!(
            "server/discover needs `params._meta` with `{VERSION}` and `{CAPABILITIES}`; clients of older revisions open \
             with `initialize` instead"
        ))),
        _ => Ok(Placed {
            era: opened.era.unwrap_or(Era::Nov2024),
            client: opened.client.clone(),
            version: opened.version.clone(),
        }),
    }
}

fn place_modern(version: &Value, meta: &Value) -> Result<Placed, RpcError> {
    let version = version.as_str().ok_or_else(|| RpcError::invalid_params(format!("`{VERSION}` must be a string")))?;
    if version != Era::Jul2026.version() {
        return Err(RpcError {
            code: code::UNSUPPORTED_VERSION,
            message: "Unsupported protocol version".into(),
            data: Some(json!({ "supported": Era::ALL.map(Era::version), "requested": shown(version) })),
        });
    }
    match meta.get(CAPABILITIES) {
        Some(Value::Object(_)) => {}
        Some(_) => return Err(RpcError::invalid_params(format!("`{CAPABILITIES}` must be an object"))),
        None => return Err(RpcError::invalid_params(format!("`{CAPABILITIES}` is required: an object"))),
    }
    let (client, version) = meta.get(CLIENT).map(client_info).transpose()?.unzip();
    if let Some(level) = meta.get(LOG_LEVEL)
        && !level.as_str().is_some_and(|level| LOG_LEVELS.contains(&level))
    {
        return Err(RpcError::invalid_params(format!("`{LOG_LEVEL}` must be one of {}", LOG_LEVELS.join(", "))));
    }
    Ok(Placed { era: Era::Jul2026, client, version })
}

fn client_info(info: &Value) -> Result<(String, String), RpcError> {
    let member = |name| info.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    match (member("name"), member("version")) {
        (Some(name), Some(version)) => Ok((name.to_owned(), version.to_owned())),
        _ => Err(RpcError::invalid_params(format!("`{CLIENT}` must have a `name` and a `version` that are not blank"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::jsonrpc::Id;

    fn request(method: &str, params: Value) -> Request {
        Request { id: Id::from(1), method: method.into(), params }
    }

    fn with_meta(meta: Value) -> Result<Placed, RpcError> {
        place(&request("tools/list", json!({ "_meta": meta })), &Opened::default())
    }

    #[test]
    fn modern_meta_is_checked_in_order() {
        let fine = json!({VERSION: "2026-07-28", CAPABILITIES: {}});
        assert_eq!(
            with_meta(fine.clone()).expect("the least meta"),
            Placed { era: Era::Jul2026, client: None, version: None }
        );
        for (key, value, code) in [
            (VERSION, json!(5), code::INVALID_PARAMS),
            (VERSION, json!(null), code::INVALID_PARAMS),
            (VERSION, json!("2025-06-18"), code::UNSUPPORTED_VERSION),
            (VERSION, json!("1999-01-01"), code::UNSUPPORTED_VERSION),
            (CAPABILITIES, json!([]), code::INVALID_PARAMS),
            (CAPABILITIES, json!(null), code::INVALID_PARAMS),
            (CLIENT, json!(null), code::INVALID_PARAMS),
            (CLIENT, json!({"name": "x"}), code::INVALID_PARAMS),
            (CLIENT, json!({"name": " ", "version": "1"}), code::INVALID_PARAMS),
            (LOG_LEVEL, json!("loud"), code::INVALID_PARAMS),
        ] {
            let mut meta = fine.clone();
            meta[key] = value.clone();
            assert_eq!(with_meta(meta).expect_err("one key is wrong").code, code, "{key} {value}");
        }
        let missing = with_meta(json!({VERSION: "2026-07-28"})).expect_err("it is required");
        assert!(missing.code == code::INVALID_PARAMS && missing.message.contains("is required"), "{missing}");
        let both_wrong = json!({VERSION: "1999-01-01"});
        assert_eq!(with_meta(both_wrong).expect_err("no such version").code, code::UNSUPPORTED_VERSION);
    }

    #[test]
    fn an_unknown_version_is_answered_with_all_five() {
        let error = with_meta(json!({VERSION: "2027-01-01"})).expect_err("no such version");
        assert_eq!(
            error.data.expect("the versions are data"),
            json!({
                "supported": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
                "requested": "2027-01-01",
            })
        );
    }

    #[test]
    fn modern_requests_inherit_nothing() {
        let opened = Opened { era: Some(Era::Jun2025), client: Some("claude-ai".into()), version: None };
        let meta = json!({"_meta": {VERSION: "2026-07-28", CAPABILITIES: {}}});
        let placed = place(&request("tools/list", meta), &opened).expect("the least meta");
        assert_eq!(placed, Placed { era: Era::Jul2026, client: None, version: None });
        let bare = place(&request("tools/list", Value::Null), &opened).expect("a bare request is fine");
        assert_eq!(bare, Placed { era: Era::Jun2025, client: Some("claude-ai".into()), version: None });
    }

    #[test]
    fn bare_requests_are_of_the_oldest_revision() {
        for params in [json!(null), json!([1]), json!("x"), json!({"_meta": 5}), json!({"_meta": {"progressToken": 1}})]
        {
            let placed = place(&request("ping", params), &Opened::default()).expect("a bare request is fine");
            assert_eq!(placed.era, Era::Nov2024);
        }
        let error = place(&request("server/discover", json!({})), &Opened::default()).expect_err("discover is modern");
        assert_eq!(error.code, code::INVALID_PARAMS);
        assert!(error.message.contains("initialize"), "{error}");
    }

    #[test]
    fn initialize_is_legacy_unless_it_is_modern_alone() {
        let meta = json!({VERSION: "2026-07-28", CAPABILITIES: {}});
        let era = |params| place(&request("initialize", params), &Opened::default()).map(|placed| placed.era);
        assert_eq!(era(json!({"protocolVersion": "2026-07-28", "_meta": meta})).ok(), Some(Era::Nov2024));
        assert_eq!(era(json!({ "_meta": meta })).ok(), Some(Era::Jul2026));
        assert_eq!(era(json!(null)).ok(), Some(Era::Nov2024));
    }

    #[test]
    fn initialize_echoes_what_it_knows() {
        for era in Era::ALL.into_iter().filter(|era| !era.is_modern()) {
            assert_eq!(Era::agreed(Some(era.version())), era);
        }
        for asked in [None, Some("2026-07-28"), Some("1999-01-01"), Some("")] {
            assert_eq!(Era::agreed(asked), Era::Nov2025, "{asked:?}");
        }
    }
}
