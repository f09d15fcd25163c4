//! Finds libcapball: in CAPBALL_LIB_DIR, else by pkg-config.
use std::{env, process::Command};

fn main() {
    println!("cargo:rerun-if-env-changed=CAPBALL_LIB_DIR");
    println!("cargo:rerun-if-env-changed=CAPBALL_STATIC");
    let fixed = env::var_os("CAPBALL_STATIC").is_some();
    let kind = if fixed { "static" } else { "dylib" };
    if let Ok(place) = env::var("CAPBALL_LIB_DIR") {
        println!("cargo:rustc-link-search=native={place}");
    } else {
        search_by_pkg_config();
    }
    println!("cargo:rustc-link-lib={kind}=capball");
    if fixed {
        // what the static library needs of the system and, if it was built with them, of others
        let needs = env::var("CAPBALL_NEEDS").unwrap_or_else(|_| "m pthread".into());
        for name in needs.split_whitespace() {
            println!("cargo:rustc-link-lib={name}");
        }
    }
}

fn search_by_pkg_config() {
    let found = Command::new("pkg-config").args(["--libs-only-L", "capball"]).output();
    let flags = match found {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).into_owned(),
        _ => panic!("pkg-config does not find capball: install it, or set CAPBALL_LIB_DIR to the directory of the library"),
    };
    for place in flags.split_whitespace().filter_map(|flag| flag.strip_prefix("-L")) {
        println!("cargo:rustc-link-search=native={place}");
    }
}
