//! What a worker process writes to its standard error: into our own log, line by line, no faster than we want.
//! Trust: the text is a taken-over worker's; it is data for the log, cut and escaped.

use super::{
    LastWords,
    watched::watch,
    words::{Lines, MAX_LINE},
};
use std::{
    fs::File,
    io::{self, ErrorKind, Read},
    os::fd::OwnedFd,
    rc::Rc,
    time::Duration,
};
use tokio::{
    io::Interest,
    time::{Instant, sleep_until},
};

/// Bytes that are read in one [`TURN`]; a worker that writes more waits.
const MAX_PER_TURN: usize = 32 * 1024;
const TURN: Duration = Duration::from_secs(1);

/// Reads until the end. `pipe` must be non-blocking.
pub(super) async fn follow(pipe: OwnedFd, words: Rc<LastWords>, mut log: impl FnMut(&str)) -> io::Result<()> {
    let pipe = watch(File::from(pipe), Interest::READABLE)?;
    let mut lines = Lines::default();
    let mut keep = |line: String| {
        log(&line);
        words.push(line);
    };
    let mut piece = [0u8; MAX_LINE];
    let (mut turn, mut left) = (Instant::now(), MAX_PER_TURN);
    loop {
        if left == 0 {
            sleep_until(turn + TURN).await;
            (turn, left) = (Instant::now(), MAX_PER_TURN);
        }
        let room = left.min(piece.len());
        match pipe.readable().await?.try_io(|pipe| pipe.get_ref().read(&mut piece[..room])) {
            Ok(Ok(0)) => break,
            Ok(Ok(got)) => {
                if turn.elapsed() >= TURN {
                    (turn, left) = (Instant::now(), MAX_PER_TURN);
                }
                left = left.saturating_sub(got);
                lines.push(&piece[..got], &mut keep);
            }
            Ok(Err(e)) if e.kind() == ErrorKind::Interrupted => {}
            Ok(Err(e)) => return Err(e),
            Err(_empty) => {}
        }
    }
    lines.rest().into_iter().for_each(keep);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::carrier::words::KEPT;
    use std::io::Write;

    #[tokio::test(start_paused = true)]
    async fn everything_is_read_but_no_faster_than_allowed() {
        let (ours, mut theirs) = io::pipe().expect("a pipe");
        let ours = OwnedFd::from(ours);
        bulkhead_sandbox::spawn::set_nonblocking(&ours).expect("a pipe");
        let line = [&[b'x'; 1023][..], b"\n"].concat();
        for _ in 0..50 {
            theirs.write_all(&line).expect("a pipe holds 64 KiB");
        }
        theirs.write_all(b"unfinished").expect("a pipe holds 64 KiB");
        drop(theirs);
        let (words, start, mut lines) = (Rc::new(LastWords::default()), Instant::now(), 0);
        follow(ours, Rc::clone(&words), |_| lines += 1).await.expect("readable");
        assert_eq!((lines, start.elapsed()), (51, TURN), "50 KiB take two turns");
        assert_eq!(words.text().split(" | ").count(), KEPT);
        assert!(words.text().ends_with("unfinished"));
    }
}
