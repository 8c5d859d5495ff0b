//! `make demo-drain`: a server that forgets nothing and answers badly, and a client that is killed with `kill -9` at random
//! while it drains. What the server applied is then compared with what the client was told to send.
//!
//! The client is this same program, started again by the one that judges.

mod client;
mod judge;
mod server;

use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use server::Server;

const USAGE: &str = "\
Usage: parsley-drain-demo [--seed N] [--mutations N] [--namespaces N] [--kills N]

  --seed N        of everything random (default 1)
  --mutations N   to be sent (default 10000)
  --namespaces N  over which they are spread (default 20)
  --kills N       of the client with kill -9 (default 12)
";

/// What is played.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Play {
    pub(crate) seed: u64,
    pub(crate) mutations: u64,
    pub(crate) namespaces: u64,
    pub(crate) kills: u64,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.first().map(String::as_str) {
        Some("client") => client::main(&arguments[1..]).map(|()| true),
        _ => match play(&arguments) {
            Ok(play) => run(play),
            Err(what) => {
                eprintln!("parsley-drain-demo: {what}\n\n{USAGE}");
                return ExitCode::from(2);
            }
        },
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("parsley-drain-demo: {error}");
            ExitCode::FAILURE
        }
    }
}

fn play(arguments: &[String]) -> Result<Play, String> {
    let mut play = Play { seed: 1, mutations: 10_000, namespaces: 20, kills: 12 };
    let mut rest = arguments.iter();
    while let Some(name) = rest.next() {
        let value = rest.next().and_then(|value| value.parse().ok());
        let value = value.ok_or_else(|| format!("{name} needs a number"))?;
        match name.as_str() {
            "--seed" => play.seed = value,
            "--mutations" => play.mutations = value,
            "--namespaces" if value > 0 => play.namespaces = value,
            "--kills" => play.kills = value,
            _ => return Err(format!("{name} {value} is not understood")),
        }
    }
    Ok(play)
}

fn run(play: Play) -> Result<bool, Box<dyn std::error::Error>> {
    let Play { seed, mutations, namespaces, kills } = play;
    println!(
        "{mutations} mutations over {namespaces} namespaces, seed {seed}. The server recognises what it has seen;"
    );
    println!(
        "it also loses answers after it has applied, fails before, signals conflicts, rejects a few for good, and is slow"
    );
    println!("now and then. The client is killed with kill -9 {kills} times, wherever it is.\n");

    let server = Server::start(play)?;
    let directory = std::env::temp_dir().join(format!("parsley-drain-demo-{}", std::process::id()));
    let mut random = fastrand::Rng::with_seed(seed);
    let started = Instant::now();
    let mut killed = 0;
    loop {
        let mut child = client(play, server.address(), &directory)?;
        // Killed once the server has seen so much more: wherever the client is by then.
        let until = server.seen().load(Ordering::SeqCst) + random.u64(1..=(mutations / (kills + 1)).max(1));
        let kill = killed < kills;
        let ended = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if kill && server.seen().load(Ordering::SeqCst) >= until {
                child.kill()?;
                child.wait()?;
                break None;
            }
            progress(&server, mutations, killed, started);
            server.wait_for_news(Duration::from_millis(200));
        };
        match ended {
            Some(status) if status.success() => break,
            Some(status) => return Err(format!("the client ended with {status}").into()),
            None => killed += 1,
        }
    }
    println!();
    let log = server.stop();
    let dead = client::dead_letters(&directory)?;
    std::fs::remove_dir_all(&directory)?;
    Ok(judge::judge(play, &log, dead, killed, started.elapsed()))
}

fn client(play: Play, address: &str, directory: &std::path::Path) -> std::io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .arg("client")
        .arg(address)
        .arg(directory)
        .arg(play.mutations.to_string())
        .arg(play.namespaces.to_string())
        .stdin(Stdio::null())
        .spawn()
}

fn progress(server: &Server, mutations: u64, killed: u64, started: Instant) {
    let applied = server.applied().load(Ordering::SeqCst);
    let seen = server.seen().load(Ordering::SeqCst);
    print!(
        "\r{applied:>6} of {mutations} applied  {seen:>6} pushes seen  {killed:>3} kills  {:>4} s ",
        started.elapsed().as_secs()
    );
    // A progress line that can't be written is no reason to stop.
    let _ = std::io::Write::flush(&mut std::io::stdout());
}
