//! Finds libondine.so: in the folder ONDINE_LIB_DIR, or as pkg-config says.
use std::env;
use std::process::Command;

fn flags() -> Result<String, String> {
    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".into());
    let done = Command::new(&program)
        .args(["--libs", "ondine"])
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).trim().to_string());
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

fn main() {
    for name in ["ONDINE_LIB_DIR", "PKG_CONFIG", "PKG_CONFIG_PATH"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    if let Ok(folder) = env::var("ONDINE_LIB_DIR") {
        println!("cargo:rustc-link-search=native={folder}");
        println!("cargo:rustc-link-lib=dylib=ondine");
        return;
    }
    let flags = flags().unwrap_or_else(|why| {
        panic!("libondine.so is not found: set ONDINE_LIB_DIR, or PKG_CONFIG_PATH for ondine.pc ({why})")
    });
    for flag in flags.split_whitespace() {
        if let Some(folder) = flag.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={folder}");
        } else if let Some(name) = flag.strip_prefix("-l") {
            println!("cargo:rustc-link-lib=dylib={name}");
        }
    }
    if !flags.contains("-L") {
        println!("cargo:rustc-link-search=native=/usr/lib");
    }
}
