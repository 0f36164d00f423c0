"""A SuperLink of Flower on this machine and what joins it, for scripts: its processes, their logs in
a folder of work, certificates of an authority of its own, and keys of nodes."""
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(what, condition, seconds=180):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited too long for {what}"
        time.sleep(0.2)


def accepts(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class SuperLink:
    """With TLS and node authentication, or neither. The interpreter that runs the script must have
    Flower. `nodes_port` is where nodes find it: a proxy may stand in front."""

    def __init__(self, work, tls=True):
        self.work, self.tls = work, tls
        self.scripts = pathlib.Path(sys.executable).parent
        self.port = self.nodes_port = free_port()
        self.started = []
        local = "127.0.0.1,localhost"
        self.environment = {
            **os.environ, "PATH": f"{self.scripts}:{os.environ['PATH']}", "FLWR_HOME": str(work / "home"),
            "FLWR_TELEMETRY_ENABLED": "0", "NO_PROXY": local, "no_proxy": local}

    def run(self, *command):
        result = subprocess.run([str(part) for part in command], cwd=self.work, env=self.environment,
                                capture_output=True, text=True, check=False)
        assert result.returncode == 0, f"{command}: {result.stdout}{result.stderr}"
        return result.stdout

    def start(self, name, *command):
        """A process that writes to NAME.log."""
        with open(self.work / f"{name}.log", "ab") as log:
            process = subprocess.Popen([str(part) for part in command], cwd=self.work,
                                       env=self.environment, stdout=log, stderr=log)
        self.started.append(process)
        return process

    def end(self):
        for process in reversed(self.started):
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        for process in reversed(self.started):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()

    def print_logs(self):
        for log in sorted(self.work.glob("*.log")):
            print(f"--- {log.name}\n{log.read_text(errors='replace')[-4000:]}", file=sys.stderr)

    def make_certificates(self):
        names = self.work / "names"
        names.write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        self.run("openssl", "req", "-x509", *curve, "-subj", "/CN=test authority", "-keyout", "ca.key",
                 "-out", "ca.pem")
        self.run("openssl", "req", *curve[:-2], "-subj", "/CN=localhost", "-keyout", "link.key",
                 "-out", "link.csr")
        self.run("openssl", "x509", "-req", "-in", "link.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                 "-CAcreateserial", "-days", "2", "-extfile", names, "-out", "link.pem")

    def launch(self, *more):
        """Starts the SuperLink and waits until it answers."""
        if self.tls and not (self.work / "ca.pem").exists():
            self.make_certificates()
        home = self.work / "home"
        home.mkdir(exist_ok=True)
        trust = f'root-certificates = "{self.work}/ca.pem"' if self.tls else "insecure = true"
        (home / "config.toml").write_text(
            f'[superlink]\ndefault = "loop"\n[superlink.loop]\naddress = "127.0.0.1:{self.port}"\n'
            f"{trust}\n")
        secured = ["--enable-supernode-auth", "--ssl-certfile", "link.pem", "--ssl-keyfile",
                   "link.key", "--ssl-ca-certfile", "ca.pem"]
        process = self.start("superlink", self.scripts / "flower-superlink",
                             "--disable-runtime-dependency-installation", "--host", "127.0.0.1",
                             "--port", self.port, *(secured if self.tls else ["--insecure"]), *more)
        wait_for("the SuperLink", lambda: accepts(self.port))
        return process

    def trust(self):
        return ["--root-certificates", "ca.pem"] if self.tls else ["--insecure"]

    def register(self, public_key):
        self.run(self.scripts / "flwr", "supernode", "register", public_key, "loop")

    def make_key(self, name):
        """The file of a new key for a node in Python; its public half is NAME.pub."""
        key = ec.generate_private_key(ec.SECP384R1())
        (self.work / name).write_bytes(key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH,
            serialization.NoEncryption()))
        (self.work / f"{name}.pub").write_bytes(key.public_key().public_bytes(
            serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH))
        return name

    def start_native(self, name, ondine, *more):
        return self.start(name, ondine, "federate", "--superlink", f"127.0.0.1:{self.nodes_port}",
                          *self.trust(), *more)

    def start_python(self, name, key=None, **settings):
        """A SuperNode of Flower with these settings in its node_config."""
        config = " ".join(f"{one.replace('_', '-')}={value}" for one, value in settings.items())
        return self.start(
            name, self.scripts / "flower-supernode", "--superlink", f"127.0.0.1:{self.nodes_port}",
            *self.trust(), *(["--auth-supernode-private-key", key] if key else []),
            *(["--node-config", config] if config else []), "--host", "127.0.0.1", "--port",
            free_port())

    def start_run(self, app, config, *more):
        """`flwr run` of an app, whose settings are texts and numbers."""
        text = " ".join(f"{name}={repr(str(value)) if not isinstance(value, (int, float)) else value}"
                        for name, value in config.items())
        return self.start("run", self.scripts / "flwr", "run", app, "loop", "--run-config", text,
                          "--stream", *more)
