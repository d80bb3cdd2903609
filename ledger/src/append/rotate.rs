//! Rotation and retention: the active file becomes a segment; of too many segments the oldest gives way to a checkpoint.
//! Trust: a crash may fall between any two steps; each order below leaves a ledger that verifies or that is taken up.

use super::{Active, ActiveFile as _, AppendError, Appender, Directory, Host, IoFault, Notice, ReadAt as _, Step};
use crate::{
    checkpoint::Checkpoint,
    limits::{KEEP_SEGMENTS, MAX_SEGMENTS},
    names::{CheckpointName, SegmentName},
    uuid::Uuid,
};

impl<D: Directory, H: Host> Appender<D, H> {
    /// Gives the active file, whose content is synced, its segment's name, and begins another.
    pub(super) fn rotate(&mut self) -> Result<(), AppendError> {
        if self.list()?.segments.len() >= MAX_SEGMENTS {
            self.prune().map_err(|why| AppendError::Retention(Box::new(why)))?;
        }
        // until another file is active, this writer has none: whatever fails below, the next look settles anew
        let Some(Active { identity, first: Some(first), .. }) = self.active.take() else {
            return Err(AppendError::Swapped);
        };
        let Some(id) = self.tail.segment else { return Err(AppendError::Swapped) };
        let name = SegmentName { first, last: self.tail.sequence, id };
        let renamed = self.directory.rename_active(identity, &name);
        renamed.map_err(|fault| IoFault::new(Step::Rotate, &fault))?;
        let opened = |fault: std::io::Error| IoFault::new(Step::Open, &fault);
        let file = self.directory.open_active().map_err(opened)?;
        let identity = file.identity().map_err(opened)?;
        if file.length().map_err(opened)? != 0 {
            return Err(AppendError::Swapped);
        }
        self.tail.next_file();
        self.active = Some(Active { file, identity, length: 0, first: None, last_line: None, behind: None });
        self.notices.push(Notice::Rotated { last: name.last });
        if let Err(fault) = self.prune() {
            // one segment more than is kept is allowed; the next rotation tries again before it adds another
            self.notices.push(Notice::PruneFailed(fault));
        }
        Ok(())
    }

    /// Deletes the oldest segments beyond what is kept; for each a checkpoint is durable before it goes.
    fn prune(&mut self) -> Result<(), AppendError> {
        let pruning = |fault: std::io::Error| IoFault::new(Step::Prune, &fault);
        loop {
            let listing = self.list()?;
            let Some(oldest) = listing.segments.first().filter(|_| listing.segments.len() > KEEP_SEGMENTS) else {
                return Ok(());
            };
            let previous = self.last_of(oldest)?;
            let checkpoint = Checkpoint { created_at: self.host.now(), next: oldest.last.saturating_add(1), previous };
            let name = CheckpointName { next: checkpoint.next, id: Uuid::v4(self.host.random()) };
            let text = checkpoint.text(self.key.as_ref());
            self.directory.write_checkpoint(&name, text.as_bytes()).map_err(pruning)?;
            self.directory.remove_segment(oldest).map_err(pruning)?;
            for older in &listing.checkpoints {
                self.directory.remove_checkpoint(older).map_err(pruning)?;
            }
            self.notices.push(Notice::Pruned { through: oldest.last });
        }
    }
}
