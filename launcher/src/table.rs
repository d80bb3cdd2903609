//! The fixed table: what the first frame of each kind of worker says.
//! Trust: built by the front door from the command line before the fork; the only later addition is an opaque path.

use bulkhead_ipc::{
    Error,
    edge::{Inits, WorkerKind, launcher::MAX_SPAWN_PATH},
    frame,
};

/// Bytes to which a row may encode, without a path. The launcher writes the first frame before anybody reads the
/// pipe, so frame and path together must fit the pipe's 64 KiB.
pub const MAX_INIT: usize = 28 * 1024;

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// Too many or too long ceilings, mostly.
    #[error("what workers are told at start takes {len} bytes; at most {MAX_INIT} fit: name fewer or shorter --root")]
    TooLong {
        /// Bytes it would take.
        len: usize,
    },
    /// The codec refused the row.
    #[error(transparent)]
    Codec(#[from] Error),
}

/// What every kind of worker is told at start. Never changes after it was made.
#[derive(Debug, Clone)]
pub struct Table(Inits);

impl Table {
    /// The table of these rows; a path in that of worker-read is dropped, because the path comes with the request.
    ///
    /// # Errors
    /// [`TableError::TooLong`] when a first frame would not fit the pipe.
    pub fn new(mut inits: Inits) -> Result<Self, TableError> {
        inits.read.path = None;
        let table = Self(inits);
        for kind in WorkerKind::ALL {
            let len = table.first_frame(kind, None)?.len();
            if len > MAX_INIT {
                return Err(TableError::TooLong { len });
            }
        }
        Ok(table)
    }

    /// Whether workers are to build empty roots, for which they need what a launcher could otherwise give up.
    #[must_use]
    pub fn empty_roots(&self) -> bool {
        self.0.read.empty_root
    }

    /// Whether the gate is open: whether there is a repository that may be written.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.0.write.allowed.is_some()
    }

    /// Where the ledger lies; `None` where there is none.
    #[cfg(target_os = "linux")]
    pub(crate) fn ledger(&self) -> Option<std::path::PathBuf> {
        use std::os::unix::ffi::OsStringExt as _;
        self.0.audit.ledger.clone().map(|path| std::ffi::OsString::from_vec(path).into())
    }

    /// Where the gateway listens; `None` where none is configured.
    #[cfg(target_os = "linux")]
    pub(crate) fn gateway(&self) -> Option<std::net::SocketAddr> {
        self.0.gateway.address
    }

    /// The whole first frame, length word included, for a worker that is for `path`.
    ///
    /// # Errors
    /// Those of the codec; none for a path of at most [`MAX_SPAWN_PATH`] bytes.
    pub fn first_frame(&self, kind: WorkerKind, path: Option<Vec<u8>>) -> Result<Vec<u8>, Error> {
        debug_assert!(path.as_ref().is_none_or(|path| path.len() <= MAX_SPAWN_PATH));
        let body = self.0.first(kind, path)?;
        frame::with_length(&body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_ipc::{
        codec,
        edge::{
            agents, audit, gateway, note,
            read::{Init, OwnerTrust, ToRead},
            syntax, write,
        },
    };

    fn inits(ceiling: usize) -> Inits {
        let demand = Default::default();
        let audit = audit::Init { demand, ledger: None, sign_key: None, compat: false, memory: 1 << 28 };
        let agents = agents::Init { demand, stores: Vec::new(), presence: Vec::new(), pid: 1, memory: 1 << 28 };
        let note = note::Init { demand, dir: None, pid: 1, memory: 1 << 28 };
        let syntax = syntax::Init { demand, memory: 1 << 28 };
        let gateway = gateway::Init { demand, address: None, token: None, memory: 1 << 28 };
        Inits { read: init(ceiling), audit, agents, note, gateway, syntax, write: write::Init::closed(demand) }
    }

    fn init(ceiling: usize) -> Init {
        Init {
            demand: Default::default(),
            empty_root: false,
            ceilings: vec![vec![b'/'; ceiling]],
            run_dirs: Vec::new(),
            path: Some(b"/left/over".to_vec()),
            trust: OwnerTrust::default(),
            home: None,
            xdg_config_home: None,
            memory: 1 << 30,
            threads: 2,
        }
    }

    #[test]
    fn the_longest_row_with_the_longest_path_fits_a_pipe() {
        let mut ceiling = MAX_INIT;
        let table = loop {
            match Table::new(inits(ceiling)) {
                Ok(table) => break table,
                Err(TableError::TooLong { .. }) => ceiling -= 1,
                Err(e) => panic!("{e}"),
            }
        };
        assert!(ceiling > MAX_INIT - 64, "only the words around the ceiling are taken off: {ceiling}");
        let frame = table.first_frame(WorkerKind::Read, Some(vec![0xff; MAX_SPAWN_PATH])).expect("within the limits");
        assert!(frame.len() <= 64 * 1024, "{}", frame.len());
    }

    #[test]
    fn a_path_is_never_part_of_the_table_and_passes_unchanged() {
        let table = Table::new(inits(10)).expect("short");
        for path in [None, Some(b"/a\nb/\xff\0".to_vec())] {
            let frame = table.first_frame(WorkerKind::Read, path.clone()).expect("short");
            let body = frame::read(&mut &frame[..]).expect("ours").expect("one frame");
            let ToRead::Init(init) = codec::decode(&body).expect("ours") else { panic!("the first message is Init") };
            assert_eq!(init.path, path);
        }
    }
}
