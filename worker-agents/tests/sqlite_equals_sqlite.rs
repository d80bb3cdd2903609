//! Our reader against the library that programs write their databases with: the same rows, column by column.
//! Trust: the databases are generated here; a fixed seed, so that a failure comes again.

use bulkhead_worker_agents::sqlite::{Database, Fault, Value};
use rusqlite::{Connection, types::Value as Theirs};
use std::{fs, path::Path};

/// A fixed xorshift.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap_or(0) % sides.max(1)
    }

    fn value(&mut self) -> Theirs {
        match self.roll(8) {
            0 => Theirs::Null,
            1 => Theirs::Integer([0, 1, -1, 127, -128, 32_768, -8_388_609, i64::MAX, i64::MIN][self.roll(9)]),
            2 => Theirs::Integer(1_796_027_909_946),
            3 => Theirs::Real(0.5),
            4 => Theirs::Blob(vec![7; self.roll(9_000)]),
            5 => Theirs::Text("x".repeat(self.roll(30_000))),
            _ => Theirs::Text(format!("text {}", self.roll(1_000))),
        }
    }
}

fn ours(file: &[u8], log: Option<&[u8]>, table: &str) -> Result<Vec<(i64, Vec<Value>)>, Fault> {
    let (file, log) = (file.to_vec(), log.map(<[u8]>::to_vec));
    let database = Database::open(&file, log.as_ref().map(|log| log as _))?;
    let mut rows = Vec::new();
    database.rows(table, &["id", "a", "b", "late?", "nowhere?"], &mut |row| {
        let id = row.integer(0)?.ok_or(Fault::Damaged)?;
        // not in the order in which they stand there
        let values = [3, 2, 1, 4].map(|column| row.value(column, 1 << 20));
        rows.push((id, values.into_iter().collect::<Result<Vec<_>, _>>()?));
        Ok(true)
    })?;
    Ok(rows)
}

fn theirs(connection: &Connection, table: &str, late: bool) -> Vec<(i64, Vec<Value>)> {
    let late = if late { "late" } else { "NULL" };
    let mut statement =
        connection.prepare(&format!("SELECT id, {late}, b, a, NULL FROM {table} ORDER BY id DESC")).expect("a query");
    let plain = |value: Theirs| match value {
        Theirs::Null => Value::Null,
        Theirs::Integer(number) => Value::Integer(number),
        Theirs::Real(number) => Value::Real(number),
        Theirs::Text(text) => Value::Text(text.into_bytes()),
        Theirs::Blob(_) => Value::Other,
    };
    let rows = statement
        .query_map((), |row| Ok((row.get(0)?, (1..5).map(|n| row.get(n).map(plain)).collect::<Result<Vec<_>, _>>()?)))
        .expect("rows");
    rows.map(|row| row.expect("a row")).collect()
}

/// The bytes of a database and of its log, where there is one.
fn bytes(path: &Path) -> (Vec<u8>, Option<Vec<u8>>) {
    let log = path.with_extension("db-wal");
    (fs::read(path).expect("it is there"), fs::read(log).ok())
}

#[test]
fn generated_databases_are_read_as_their_own_library_reads_them() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for size in [512, 1_024, 4_096, 65_536] {
        for mode in ["DELETE", "WAL", "TRUNCATE", "PERSIST"] {
            for vacuum in ["NONE", "FULL"] {
                let temp = tempfile::tempdir().expect("a temporary directory");
                let path = temp.path().join("t.db");
                let connection = Connection::open(&path).expect("a database");
                connection
                    .execute_batch(&format!(
                        "PRAGMA page_size={size}; PRAGMA auto_vacuum={vacuum}; PRAGMA journal_mode={mode}; \
                         PRAGMA wal_autocheckpoint=40; CREATE TABLE other (x); CREATE INDEX i ON other (x); \
                         CREATE TABLE \"things\" (a, id INTEGER PRIMARY KEY, b TEXT CHECK (b <> ',)'), UNIQUE (id, a));"
                    ))
                    .expect("tables");
                let mut late = false;
                for round in 0..6 {
                    connection.execute_batch("BEGIN").expect("ours");
                    for _ in 0..dice.roll(60) {
                        let (id, a, b) = (dice.roll(400) as i64 - 50, dice.value(), dice.value());
                        match dice.roll(6) {
                            0 => connection.execute("DELETE FROM things WHERE id = ?1", [id]),
                            1 => connection.execute("INSERT INTO other VALUES (?1)", [a]),
                            _ => connection
                                .execute("INSERT OR REPLACE INTO things (id, a, b) VALUES (?1, ?2, ?3)", (id, a, b)),
                        }
                        .expect("a change");
                    }
                    connection.execute_batch("COMMIT").expect("ours");
                    if round == 3 {
                        connection.execute_batch("ALTER TABLE things ADD COLUMN late TEXT").expect("a column");
                        connection.execute("UPDATE things SET late = 'later' WHERE id > 100", ()).expect("rows");
                        late = true;
                    }
                    let (file, log) = bytes(&path);
                    let what = format!("{size} {mode} {vacuum} round {round}");
                    assert_eq!(
                        ours(&file, log.as_deref(), "THINGS").as_ref(),
                        Ok(&theirs(&connection, "things", late)),
                        "{what}"
                    );
                }
                // what is not committed is not there, whether the library has written it already or not
                let before = theirs(&connection, "things", late);
                if mode == "WAL" {
                    connection
                        .execute_batch("PRAGMA cache_size=1; BEGIN; UPDATE things SET b = 'uncommitted'")
                        .expect("ours");
                    let (file, log) = bytes(&path);
                    assert_eq!(ours(&file, log.as_deref(), "things"), Ok(before), "{size} {vacuum} uncommitted");
                    connection
                        .execute_batch("ROLLBACK; PRAGMA wal_checkpoint(RESTART); INSERT INTO other VALUES (1)")
                        .expect("ours");
                    let (file, log) = bytes(&path);
                    let what = format!("{size} {vacuum}: old frames behind new ones");
                    assert_eq!(
                        ours(&file, log.as_deref(), "things"),
                        Ok(theirs(&connection, "things", late)),
                        "{what}"
                    );
                }
            }
        }
    }
}

#[test]
fn what_is_laid_out_otherwise_is_unknown_and_not_guessed_at() {
    for (script, table) in [
        ("CREATE TABLE t (id INTEGER PRIMARY KEY, a, b) WITHOUT ROWID;", "t"),
        ("PRAGMA encoding='UTF-16'; CREATE TABLE t (id INTEGER PRIMARY KEY, a, b);", "t"),
        ("CREATE TABLE t (id INTEGER PRIMARY KEY, a, b AS (a + 1));", "t"),
        ("CREATE TABLE t (id INTEGER PRIMARY KEY, a);", "t"),
        ("CREATE TABLE t (id INTEGER PRIMARY KEY, a, b);", "absent"),
        ("CREATE TABLE u (id INTEGER PRIMARY KEY, a, b); CREATE VIEW t AS SELECT * FROM u;", "t"),
    ] {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let path = temp.path().join("t.db");
        Connection::open(&path).expect("a database").execute_batch(script).expect("a table");
        assert_eq!(ours(&bytes(&path).0, None, table), Err(Fault::Unknown), "{script}");
    }
}

#[test]
fn a_table_that_is_longer_than_is_looked_at_says_so() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let path = temp.path().join("t.db");
    let connection = Connection::open(&path).expect("a database");
    let fill = "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b); WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n \
                LIMIT 60000) INSERT INTO t SELECT x, 'a', NULL FROM n;";
    connection.execute_batch(fill).expect("rows");
    let (file, _) = bytes(&path);
    assert_eq!(ours(&file, None, "t"), Err(Fault::TooLarge));
    // the newest rows are there before the end is not
    let (mut first, database) = (None, Database::open(&file, None).expect("a database"));
    database
        .rows("t", &["id"], &mut |row| {
            first = row.integer(0)?;
            Ok(false)
        })
        .expect("one row");
    assert_eq!(first, Some(60_000));
}
