//! Fresh namespaces with an empty root: the optional layer that hides what Landlock leaves visible (`stat`, `readlink`).
//! Trust: the ceilings are the operator's, canonical; every failure leaves the process as it was, and is reported.

use super::{Missing, name};
use crate::early;
use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, chdir, fork, getegid, geteuid, pivot_root};
use std::ffi::{CStr, CString};
use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Namespaces of our own, and which.
    pub fresh: Result<Fresh, Missing>,
    /// The empty root.
    pub root: Result<(), Missing>,
    /// The process lost its user id on the way: owners of files cannot be told apart, and it must not read any.
    pub lost_identity: bool,
}

/// Namespaces that this process left the system's for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fresh {
    /// A user namespace, which an ordinary user needs for the others. In it foreign owners read as the overflow id.
    pub user: bool,
    /// A network namespace, in which there is nothing.
    pub network: bool,
}

impl Fresh {
    fn flags(self) -> CloneFlags {
        let mut flags = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC | CloneFlags::CLONE_NEWUTS;
        flags.set(CloneFlags::CLONE_NEWUSER, self.user);
        flags.set(CloneFlags::CLONE_NEWNET, self.network);
        flags
    }
}

/// Ways to ask, best first. A process with CAP_SYS_ADMIN needs no user namespace, and keeps every owner's number.
const WAYS: [Fresh; 4] = [
    Fresh { user: false, network: true },
    Fresh { user: true, network: true },
    Fresh { user: false, network: false },
    Fresh { user: true, network: false },
];

/// Enters fresh namespaces and a root that shows the ceilings alone, read-only, without devices, set-uid or programs,
/// mounts beneath them included. Needs one thread and, in a user namespace, `/proc`; comes before Landlock, which forbids
/// mounting, and before capabilities are dropped.
#[must_use]
pub fn enter(ceilings: &[PathBuf]) -> Outcome {
    let nothing = |missing: Missing| Outcome { fresh: Err(missing.clone()), root: Err(missing), lost_identity: false };
    let way = match WAYS.into_iter().map(|way| tried(way).map(|()| way)).reduce(Result::or) {
        Some(Ok(way)) => way,
        Some(Err(missing)) => return nothing(missing),
        None => return nothing(Missing("namespaces: no way to ask".into())),
    };
    match fresh(way) {
        Ok(()) => Outcome { fresh: Ok(way), root: empty_root(ceilings), lost_identity: false },
        Err(Failed { missing, entered }) => Outcome { lost_identity: entered && way.user, ..nothing(missing) },
    }
}

/// The owner that files of unmapped users show; the kernel's default where it cannot be asked.
fn overflow_id() -> u32 {
    let said = fs::read_to_string("/proc/sys/kernel/overflowuid").ok();
    said.and_then(|text| text.trim().parse().ok()).unwrap_or(65_534)
}

/// Tries a way in a child: there is none back out of a user namespace whose map is then refused.
fn tried(way: Fresh) -> Result<(), Missing> {
    if way.user && geteuid().as_raw() == overflow_id() {
        return Err(Missing("namespaces: all foreign owners would show this user's own id".into()));
    }
    // SAFETY: the process has one thread, so the child may run ordinary code; it leaves without exit handlers.
    match unsafe { fork() } {
        Ok(ForkResult::Child) => {
            let code = i32::from(fresh(way).is_err());
            // SAFETY: leaves at once.
            unsafe { libc::_exit(code) }
        }
        Ok(ForkResult::Parent { child }) => match waitpid(child, None) {
            Ok(WaitStatus::Exited(_, 0)) => Ok(()),
            _ => Err(Missing("namespaces: refused to this user (unshare or the map of ids)".into())),
        },
        Err(errno) => Err(Missing::step("namespaces: fork", errno)),
    }
}

struct Failed {
    missing: Missing,
    /// Whether the namespaces were entered before it failed.
    entered: bool,
}

/// Enters; in a user namespace maps the own ids to themselves. Unmapped, every file and the process itself would have
/// the same owner, and every check of ownership would pass.
fn fresh(way: Fresh) -> Result<(), Failed> {
    let fail = |entered| move |missing| Failed { missing, entered };
    let (user, group) = (geteuid(), getegid());
    unshare(way.flags()).map_err(|errno| Missing::step("unshare", errno)).map_err(fail(false))?;
    if !way.user {
        return Ok(());
    }
    // the map's file belongs to root while the process is not dumpable
    let open = early::set(libc::PR_SET_DUMPABLE, 1);
    let write = |path: &'static str, text: String| {
        fs::write(path, text)
            .map_err(|error| Missing::step("map of ids", Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO))))
    };
    let mapped = open
        .map_err(|errno| Missing::step("PR_SET_DUMPABLE", errno))
        .and_then(|()| write("/proc/self/setgroups", "deny".into()))
        .and_then(|()| write("/proc/self/uid_map", format!("{user} {user} 1")))
        .and_then(|()| write("/proc/self/gid_map", format!("{group} {group} 1")));
    let shut = early::set(libc::PR_SET_DUMPABLE, 0).map_err(|errno| Missing::step("PR_SET_DUMPABLE", errno));
    mapped.and(shut).map_err(fail(true))
}

/// A root on a small tmpfs with the ceilings bound in. The tmpfs is mounted over the first ceiling for the moment, the one
/// directory that is sure to be there; until the pivot it can be taken away again.
fn empty_root(ceilings: &[PathBuf]) -> Result<(), Missing> {
    let none = None::<&Path>;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).map_err(step("mount private"))?;
    let mut shown: Vec<&Path> = ceilings.iter().map(PathBuf::as_path).collect();
    // a ceiling inside another comes after it
    shown.sort_unstable();
    shown.dedup();
    let trees = shown.iter().map(|path| clone_tree(path).map(|tree| (*path, tree))).collect::<Result<Vec<_>, _>>()?;
    let stage = shown.first().copied().unwrap_or(Path::new("/tmp"));
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("none"), stage, Some("tmpfs"), flags, Some("size=64k,nr_inodes=4k,mode=755"))
        .map_err(step("mount tmpfs"))?;
    let built = furnish(stage, &trees).and_then(|()| {
        chdir(stage).map_err(step("chdir"))?;
        pivot_root(".", ".").map_err(step("pivot_root"))
    });
    if let Err(missing) = built {
        let _ = chdir("/");
        return match umount2(stage, MntFlags::MNT_DETACH) {
            Ok(()) => Err(missing),
            Err(errno) => Err(Missing(format!("{missing}; the first ceiling stays hidden ({})", name(errno)))),
        };
    }
    // the old root lies over the new one until this
    umount2(".", MntFlags::MNT_DETACH).map_err(step("umount old root"))?;
    chdir("/").map_err(step("chdir"))?;
    confine_mount(libc::AT_FDCWD, c"/", 0)
}

/// Makes each ceiling's directory and puts its tree there.
fn furnish(stage: &Path, trees: &[(&Path, OwnedFd)]) -> Result<(), Missing> {
    for (path, tree) in trees {
        let at = stage.join(path.strip_prefix("/").unwrap_or(path));
        fs::create_dir_all(&at).map_err(|error| Missing(format!("empty root: mkdir: {}", error.kind())))?;
        let at = c_path(&at)?;
        // SAFETY: two strings and a descriptor that live through the call.
        Errno::result(unsafe {
            libc::syscall(
                libc::SYS_move_mount,
                tree.as_raw_fd(),
                c"".as_ptr(),
                libc::AT_FDCWD,
                at.as_ptr(),
                libc::MOVE_MOUNT_F_EMPTY_PATH,
            )
        })
        .map_err(step("move_mount"))?;
    }
    Ok(())
}

/// A copy of the mounts at and beneath a path, attached nowhere, all of them read-only without devices and programs.
fn clone_tree(path: &Path) -> Result<OwnedFd, Missing> {
    let path = c_path(path)?;
    let flags = libc::OPEN_TREE_CLONE | libc::OPEN_TREE_CLOEXEC | libc::AT_RECURSIVE as libc::c_uint;
    // SAFETY: a string that lives through the call.
    let answer = unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags) };
    let number = Errno::result(answer).map_err(step("open_tree"))?;
    let number = RawFd::try_from(number).map_err(|_| Missing("empty root: open_tree: no descriptor".into()))?;
    // SAFETY: just opened, owned by nobody else.
    let tree = unsafe { OwnedFd::from_raw_fd(number) };
    confine_mount(tree.as_raw_fd(), c"", libc::AT_EMPTY_PATH | libc::AT_RECURSIVE)?;
    Ok(tree)
}

/// Read-only, no devices, no set-uid, no programs.
fn confine_mount(at: RawFd, path: &CStr, flags: libc::c_int) -> Result<(), Missing> {
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_NOEXEC,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    // SAFETY: a string and a block of attributes with its true size, both alive through the call.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            at,
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    Errno::result(answer).map(drop).map_err(step("mount_setattr"))
}

fn c_path(path: &Path) -> Result<CString, Missing> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Missing("empty root: a path with a null byte".into()))
}

fn step(what: &'static str) -> impl Fn(Errno) -> Missing {
    move |errno| Missing::step(&format!("empty root: {what}"), errno)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{ensure, passes};

    #[test]
    fn a_ceiling_that_is_missing_leaves_the_others_in_sight() {
        let ceiling = tempfile::tempdir().expect("a directory");
        fs::write(ceiling.path().join("file"), "here").expect("a file");
        let ceilings = [ceiling.path().to_path_buf(), ceiling.path().join("missing")];
        passes(|| {
            let outcome = enter(&ceilings);
            ensure(outcome.root.is_err() && !outcome.lost_identity, format!("{outcome:?}"))?;
            ensure(fs::read(ceilings[0].join("file")).is_ok(), "the ceiling is hidden")?;
            ensure(fs::metadata("/proc/self").is_ok(), "the old root is gone")
        });
    }

    #[test]
    fn ceilings_are_read_only_whatever_lies_in_another() {
        let outer = tempfile::tempdir().expect("a directory");
        let inner = outer.path().join("inner");
        fs::create_dir(&inner).expect("a directory");
        let ceilings = [inner.clone(), outer.path().to_path_buf()];
        passes(|| {
            let outcome = enter(&ceilings);
            if outcome.root.is_err() {
                // refused on this machine; the test above shows that nothing is lost
                return ensure(fs::read_dir(&inner).is_ok(), "hidden");
            }
            let refused = |path: &Path| {
                fs::write(path.join("new"), "").is_err_and(|error| error.raw_os_error() == Some(libc::EROFS))
            };
            ensure(refused(&inner) && refused(outer.path()) && refused(Path::new("/")), "writable")?;
            ensure(fs::read_dir("/").is_ok_and(|dir| dir.count() == 1), "more than the way to the ceilings")
        });
    }
}
