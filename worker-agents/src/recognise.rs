//! Which agent a process is, by its program and its command line; and which programs only serve one.
//! Trust: names and command lines are other programs' and may be chosen to mislead; they decide what a row says, nothing else.

/// One agent that runs in a terminal.
#[derive(Debug)]
struct Agent {
    id: &'static str,
    /// Names of its program.
    programs: &'static [&'static str],
    /// What its command line holds, however it was started.
    marks: &'static [&'static str],
    /// Other programs bear its name, so the name alone shows nothing.
    common: bool,
}

const fn agent(id: &'static str, programs: &'static [&'static str], marks: &'static [&'static str]) -> Agent {
    Agent { id, programs, marks, common: false }
}

/// In the order in which they are tried (contract `agents.md`). `amp`, `crush`, `goose` and `kilo` are also the names of a
/// player, of compressors, of a tool that migrates databases and of an editor.
const AGENTS: [Agent; 14] = [
    agent("claude-code", &["claude"], &["@anthropic-ai/claude-code"]),
    agent("codex", &["codex"], &["@openai/codex"]),
    agent("opencode", &["opencode"], &["opencode-ai"]),
    agent("gemini-cli", &["gemini"], &["@google/gemini-cli"]),
    agent("aider", &["aider"], &["aider-chat", "/aider "]),
    agent("cursor-agent", &["cursor-agent"], &["/cursor-agent/versions/"]),
    Agent { common: true, ..agent("kilo", &["kilo", "kilocode"], &["@kilocode/cli"]) },
    agent("continue", &[], &["@continuedev/cli"]),
    agent("cline", &["cline"], &["/node_modules/cline/"]),
    Agent { common: true, ..agent("amp", &["amp"], &["@sourcegraph/amp"]) },
    Agent { common: true, ..agent("goose", &["goose"], &[]) },
    agent("copilot-cli", &["copilot"], &["@github/copilot"]),
    agent("qwen-code", &["qwen"], &["@qwen-code/qwen-code"]),
    Agent { common: true, ..agent("crush", &["crush"], &[]) },
];

/// Programs that only start others.
const LAUNCHERS: [&str; 14] =
    ["node", "npx", "npm", "pnpm", "bunx", "bun", "deno", "uvx", "uv", "pipx", "python", "python3", "docker", "sh"];
/// Words of a launcher's command line that may name what it starts.
const LAUNCHED: usize = 4;

/// A process's program and words, as the system shows them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Program {
    /// Path of the program, where it can be seen.
    pub path: Vec<u8>,
    /// The command line: words that end in NUL.
    pub line: Vec<u8>,
}

impl Program {
    fn words(&self) -> impl Iterator<Item = String> {
        self.line.split(|byte| *byte == 0).filter(|word| !word.is_empty()).map(text)
    }

    /// The agent that this is. `confirms` says whether something besides the name speaks for an agent whose name is common.
    #[must_use]
    pub fn agent(&self, confirms: &dyn Fn(&str) -> bool) -> Option<&'static str> {
        let words: Vec<String> = self.words().collect();
        let line = words.join(" ");
        let path = text(self.path.strip_suffix(b" (deleted)").unwrap_or(&self.path));
        let own = [words.first().map(|word| base(word)), Some(base(&path))];
        AGENTS.iter().find_map(|agent| {
            if agent.marks.iter().any(|mark| line.contains(mark) || path.contains(mark)) {
                return Some(agent.id);
            }
            let named = agent.programs.iter().any(|program| {
                own.contains(&Some(program))
                    || line
                        .match_indices(&format!("/bin/{program}"))
                        .any(|(at, found)| line[at + found.len()..].chars().next().is_none_or(|next| next == ' '))
            });
            (named && (!agent.common || confirms(agent.id))).then_some(agent.id)
        })
    }

    /// It serves an agent by MCP, so that its running says nothing about what the agent does.
    #[must_use]
    pub fn is_server(&self) -> bool {
        let words: Vec<String> = self.words().collect();
        let Some(first) = words.first() else { return false };
        let launched = if LAUNCHERS.contains(&base(first)) { LAUNCHED } else { 0 };
        let named = [base(first)].into_iter().chain(words.iter().skip(1).take(launched).map(String::as_str));
        let mut tokens = named.flat_map(|word| word.split(|c: char| !c.is_ascii_alphanumeric()));
        tokens.any(|token| matches!(token, "mcp" | "modelcontextprotocol"))
    }
}

/// Lower case, forward separators; what is no text shows nothing.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).to_lowercase().replace('\\', "/")
}

fn base(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".exe").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, words: &[&str]) -> Program {
        Program {
            path: path.as_bytes().to_vec(),
            line: words.iter().flat_map(|word| [word.as_bytes(), b"\0"].concat()).collect(),
        }
    }

    fn named(path: &str, words: &[&str]) -> Option<&'static str> {
        of(path, words).agent(&|_| false)
    }

    #[test]
    fn programs_and_command_lines_name_their_agent() {
        for (id, words) in [
            ("claude-code", &["claude"][..]),
            ("claude-code", &["node", "/x/node_modules/@anthropic-ai/claude-code/cli.js"]),
            ("codex", &["node", "/x/@openai/codex/bin/codex.js"]),
            ("codex", &["C:\\x\\Codex.exe"]),
            ("opencode", &["node", "/x/opencode-ai/x"]),
            ("gemini-cli", &["node", "/usr/bin/gemini"]),
            ("aider", &["python", "-m", "aider-chat"]),
            ("aider", &["python", "/home/x/bin/aider", "--model"]),
            ("cursor-agent", &["/opt/cursor-agent/versions/1/agent"]),
            ("kilo", &["node", "@kilocode/cli"]),
            ("continue", &["node", "@continuedev/cli/dist/cn.js"]),
            ("cline", &["node", "/x/node_modules/cline/x.js"]),
            ("amp", &["node", "@sourcegraph/amp"]),
            ("copilot-cli", &["node", "@github/copilot/x"]),
            ("qwen-code", &["node", "@qwen-code/qwen-code/x"]),
        ] {
            assert_eq!(named("/usr/bin/node", words), Some(id), "{words:?}");
        }
        assert_eq!(named("/opt/claude (deleted)", &["x"]), Some("claude-code"));
    }

    #[test]
    fn others_are_none() {
        for words in [
            &["cn"][..],
            &["agent"],
            &["windsurf"],
            &["claudette"],
            &["vim", "claude"],
            &["cat", "/x/bin/codex.md"],
            &[],
        ] {
            assert_eq!(named("/usr/bin/x", words), None, "{words:?}");
        }
    }

    #[test]
    fn a_common_name_needs_more_than_the_name() {
        for name in ["amp", "goose", "crush", "kilo"] {
            let program = of(&format!("/usr/bin/{name}"), &[name]);
            assert_eq!(program.agent(&|_| false), None, "{name}");
            assert_eq!(program.agent(&|id| id == name), Some(name));
        }
    }

    #[test]
    fn servers_are_told_from_work() {
        for words in [
            &["npx", "-y", "@modelcontextprotocol/server-git"][..],
            &["mcp-server-fetch"],
            &["docker", "run", "-i", "mcp/git"],
            &["uvx", "x-mcp"],
        ] {
            assert!(of("", words).is_server(), "{words:?}");
        }
        for words in [&["cargo", "test", "mcp"][..], &["node", "a", "b", "c", "d", "mcp"], &["python3", "mcpx.py"], &[]]
        {
            assert!(!of("", words).is_server(), "{words:?}");
        }
    }
}
