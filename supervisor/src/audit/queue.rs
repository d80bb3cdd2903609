//! Events that wait, events that were handed over, and how many were lost: bounded, in order, nothing dropped unsaid.
//! Trust: the supervisor's own bookkeeping; callers can fill it and never make it grow.

use bulkhead_contract::limits::MAX_OPEN_REQUESTS;
use bulkhead_ipc::edge::audit::{Event, Kind, MAX_EVENTS, Outcome, Scope};
use std::collections::{HashMap, VecDeque};
use tokio::sync::oneshot;

/// Events that wait or are under way at most.
pub const CAPACITY: usize = 2048;
/// Groups that are under way at most: what a thread's queue holds.
const GROUPS: usize = 4;

/// The queue.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Who tells of gaps.
    session: String,
    waiting: VecDeque<Event>,
    sent: VecDeque<(u64, Vec<Event>)>,
    groups: u64,
    places: u64,
    gap: Option<Gap>,
    /// Who waits to hear whether the event at that place is recorded.
    awaited: HashMap<u64, oneshot::Sender<bool>>,
}

/// Events that could not be held.
#[derive(Debug, Clone, Copy)]
struct Gap {
    count: u64,
    first: u64,
    last: u64,
}

impl Queue {
    /// An empty one, which tells of gaps as `session`.
    pub fn of(session: String) -> Self {
        Self { session, ..Self::default() }
    }

    fn len(&self) -> usize {
        self.waiting.len() + self.sent.iter().map(|(_, events)| events.len()).sum::<usize>()
    }

    /// No further event can be held.
    pub fn is_full(&self) -> bool {
        self.gap.is_some() || self.len() >= CAPACITY
    }

    /// Every call that may be open could end now, and be held.
    pub fn has_room(&self) -> bool {
        self.gap.is_none() && self.len() + MAX_OPEN_REQUESTS < CAPACITY
    }

    /// Puts an event behind all others, and gives it its place. `awaited` hears whether it is recorded, as soon as that
    /// is known; it is dropped where nobody listens any more.
    pub fn put(&mut self, mut event: Event, awaited: Option<oneshot::Sender<bool>>) {
        self.tell_gap();
        self.places += 1;
        event.place = self.places;
        self.awaited.retain(|_, sender| !sender.is_closed());
        if let Some(sender) = awaited {
            self.awaited.insert(event.place, sender);
        }
        if self.is_full() { self.lose(&event) } else { self.waiting.push_back(event) }
    }

    fn lose(&mut self, event: &Event) {
        self.settle(event.place, false);
        // what was lost by telling of a gap counts for that gap
        let count = event.numbers.iter().find(|(name, _)| name == LOST).map_or(1, |(_, lost)| *lost);
        let gap = self.gap.get_or_insert(Gap { count: 0, first: event.place, last: event.place });
        gap.count += count;
        gap.last = gap.last.max(event.place);
    }

    fn settle(&mut self, place: u64, recorded: bool) {
        if let Some(sender) = self.awaited.remove(&place) {
            // who does not listen any more has drawn its own conclusions
            let _ = sender.send(recorded);
        }
    }

    /// What was lost is told before what comes after it, as soon as there is room.
    pub fn tell_gap(&mut self) {
        if self.len() < CAPACITY
            && let Some(Gap { count, first, last }) = self.gap.take()
        {
            self.places += 1;
            self.waiting.push_back(Event {
                kind: Kind::Gap,
                tool: "bulkhead".to_owned(),
                result: Outcome::Error,
                scope: Scope::Unknown,
                arguments: None,
                session: self.session.clone(),
                duration_ms: 0,
                summary: format!("{count} events were not recorded"),
                reported: None,
                timestamp: super::now(),
                place: self.places,
                numbers: vec![(LOST.to_owned(), count), ("firstLost".to_owned(), first), ("lastLost".to_owned(), last)],
                write: None,
            });
        }
    }

    /// The next group to be handed over; `None` when there is nothing, or enough is under way.
    pub fn take(&mut self) -> Option<(u64, Vec<Event>)> {
        self.tell_gap();
        if self.waiting.is_empty() || self.sent.len() >= GROUPS {
            return None;
        }
        self.groups += 1;
        let events: Vec<Event> = self.waiting.drain(..self.waiting.len().min(MAX_EVENTS)).collect();
        self.sent.push_back((self.groups, events.clone()));
        Some((self.groups, events))
    }

    /// The oldest group under way was answered; false where that is another. `again` holds the places in it of events
    /// that are to be tried again, `gone` of those that cannot be recorded.
    pub fn answered(&mut self, group: u64, again: &[u32], gone: &[u32]) -> bool {
        if self.sent.front().is_none_or(|(oldest, _)| *oldest != group) {
            return false;
        }
        let Some((_, events)) = self.sent.pop_front() else { return false };
        let mut back = Vec::new();
        for (event, at) in events.into_iter().zip(0u32..) {
            if again.contains(&at) {
                back.push(event);
            } else if gone.contains(&at) {
                self.lose(&event);
            } else {
                self.settle(event.place, true);
            }
        }
        if !back.is_empty() {
            // of several groups that failed, the older one comes first again
            self.waiting.extend(back);
            self.waiting.make_contiguous().sort_by_key(|event| event.place);
        }
        true
    }

    /// The worker fell: what it had not answered is handed to the next one.
    pub fn take_back(&mut self) {
        while let Some((_, events)) = self.sent.pop_back() {
            events.into_iter().rev().for_each(|event| self.waiting.push_front(event));
        }
    }

    /// Nobody will ever take them: they are counted, and not held.
    pub fn lose_all(&mut self) {
        self.take_back();
        for event in std::mem::take(&mut self.waiting) {
            self.lose(&event);
        }
    }

    /// Groups that were handed over and not answered.
    pub fn groups_under_way(&self) -> usize {
        self.sent.len()
    }

    /// Nothing waits and nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.sent.is_empty() && self.gap.is_none()
    }

    /// Events that are not known to be recorded.
    pub fn unrecorded(&self) -> u64 {
        self.len() as u64 + self.gap.map_or(0, |gap| gap.count)
    }
}

/// Name of the number of lost events.
const LOST: &str = "lost";

#[cfg(test)]
mod tests {
    use super::*;

    fn event(summary: &str) -> Event {
        Event {
            kind: Kind::ToolCall,
            tool: "repo.status".into(),
            result: Outcome::Success,
            scope: Scope::Unknown,
            arguments: None,
            session: "s".into(),
            duration_ms: 0,
            summary: summary.into(),
            reported: None,
            timestamp: 0,
            place: 0,
            numbers: vec![],
            write: None,
        }
    }

    fn places(events: &[Event]) -> Vec<u64> {
        events.iter().map(|event| event.place).collect()
    }

    #[test]
    fn what_overflows_is_counted_and_told_before_what_comes_after_it() {
        let mut queue = Queue::default();
        for _ in 0..CAPACITY + 3 {
            queue.put(event("call"), None);
        }
        assert!(queue.is_full());
        assert_eq!(queue.unrecorded(), CAPACITY as u64 + 3);
        let mut seen = Vec::new();
        while let Some((group, events)) = queue.take() {
            seen.extend(events);
            assert!(queue.answered(group, &[], &[]));
        }
        let gap = seen.pop().expect("the gap is the last");
        assert_eq!(gap.kind, Kind::Gap);
        let lost = [("lost", 3), ("firstLost", CAPACITY as u64 + 1), ("lastLost", CAPACITY as u64 + 3)];
        assert_eq!(gap.numbers, lost.map(|(name, number)| (name.to_owned(), number)));
        assert_eq!(places(&seen), (1..=CAPACITY as u64).collect::<Vec<_>>());
        assert!(queue.is_empty());
        queue.put(event("after"), None);
        assert_eq!(queue.take().map(|(_, events)| places(&events)), Some(vec![CAPACITY as u64 + 5]));
    }

    #[test]
    fn what_a_fallen_worker_had_not_answered_comes_again_in_order() {
        let mut queue = Queue::default();
        for _ in 0..MAX_EVENTS * 2 + 1 {
            queue.put(event("call"), None);
        }
        let (first, _) = queue.take().expect("a group");
        let (second, _) = queue.take().expect("another");
        assert!(!queue.answered(second, &[], &[]), "answers come in order");
        assert!(queue.answered(first, &[1], &[2]), "one failed for now, one for ever");
        queue.take_back();
        let mut seen = Vec::new();
        while let Some((group, events)) = queue.take() {
            seen.extend(events);
            queue.answered(group, &[], &[]);
        }
        assert_eq!(seen.pop().map(|event| event.kind), Some(Kind::Gap));
        let expected: Vec<u64> = [2].into_iter().chain(MAX_EVENTS as u64 + 1..=MAX_EVENTS as u64 * 2 + 1).collect();
        let mut sorted = places(&seen);
        sorted.sort_unstable();
        assert_eq!(sorted, expected);
    }

    #[test]
    fn a_lost_gap_is_part_of_the_next_one() {
        let mut queue = Queue::default();
        for _ in 0..CAPACITY + 2 {
            queue.put(event("call"), None);
        }
        let (group, _) = queue.take().expect("a group");
        queue.answered(group, &[], &[]);
        queue.put(event("after"), None);
        queue.lose_all();
        queue.tell_gap();
        let gap = queue.take().expect("the gap").1.remove(0);
        // all but the group that was recorded; the first gap's own entry is none of the calls
        assert_eq!(gap.numbers[0], ("lost".to_owned(), (CAPACITY + 3 - MAX_EVENTS) as u64));
    }

    #[test]
    fn who_waits_for_an_event_hears_of_its_end_once() {
        let mut queue = Queue::default();
        let mut heard = Vec::new();
        for _ in 0..3 {
            let (sender, receiver) = oneshot::channel();
            queue.put(event("intent"), Some(sender));
            heard.push(receiver);
        }
        let (group, _) = queue.take().expect("a group");
        assert!(heard.iter_mut().all(|one| one.try_recv().is_err()), "nothing is known yet");
        // one failed for now, one for ever
        queue.answered(group, &[1], &[2]);
        assert_eq!((heard[0].try_recv(), heard[2].try_recv()), (Ok(true), Ok(false)));
        assert!(heard[1].try_recv().is_err());
        queue.lose_all();
        assert_eq!(heard[1].try_recv(), Ok(false));
    }
}
