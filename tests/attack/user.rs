//! The second run, as an ordinary user: root may read and own everything, and hides what depends on that.
//! Trust: the second run is this program.

use super::options::Options;
use std::{
    fs, io,
    os::unix::{
        fs::{PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    path::Path,
    process::{Command, Stdio},
};

/// The user that owns nothing.
const NOBODY: u32 = 65_534;

/// Starts the second run from copies that every user can reach; whether everything held.
///
/// # Errors
/// Why that is not possible here.
pub fn run(options: &Options) -> Result<bool, String> {
    let directory = tempfile::Builder::new().prefix("bulkhead-user-").tempdir().map_err(|e| e.to_string())?;
    let copy = |from: &Path, name: &str| -> io::Result<_> {
        let to = directory.path().join(name);
        fs::copy(from, &to)?;
        fs::set_permissions(&to, fs::Permissions::from_mode(0o755))?;
        Ok(to)
    };
    let prepare = || -> io::Result<_> {
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755))?;
        let own = directory.path().join("own");
        fs::create_dir(&own)?;
        chown(&own, Some(NOBODY), Some(NOBODY))?;
        Ok((copy(Path::new("/proc/self/exe"), "attack")?, copy(&options.product, "bulkhead")?, own))
    };
    let (this, product, own) = prepare().map_err(|e| e.to_string())?;
    let mut command = Command::new(&this);
    command.arg("as-user").arg("--product").arg(product).args(["--deadline", &options.deadline.to_string()]);
    command.args(["--jobs", &options.jobs.to_string()]);
    if !options.only.is_empty() {
        command.args(["--only", &options.only.join(",")]);
    }
    command.uid(NOBODY).gid(NOBODY).env("TMPDIR", own).current_dir("/").stdin(Stdio::null());
    Ok(command.status().map_err(|e| format!("{}: {e}", this.display()))?.success())
}
