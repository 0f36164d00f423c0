"""A network of this machine with a given latency and bandwidth: a namespace for each host, with a
device whose packets go through this program. Needs root, `ip` and /dev/net/tun."""
import ctypes
import fcntl
import heapq
import os
import select
import struct
import subprocess
import threading
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
CLONE_NEWNET = 0x40000000
MTU = 9000
libc = ctypes.CDLL(None, use_errno=True)


def run(*command):
    subprocess.run(command, check=True, capture_output=True)


def open_tun(namespace, device):
    """In a thread of its own, whose network namespace is another then."""
    result = []

    def work():
        with open(f"/var/run/netns/{namespace}", "rb") as place:
            if libc.setns(place.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")
        tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH", device.encode(), IFF_TUN | IFF_NO_PI))
        result.append(tun)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return result[0]


class DelayedNetwork:
    """Hosts 0, 1, ... at 10.77.0.1, 10.77.0.2, ...: a packet leaves its host when those before it
    have left at `bandwidth` bytes a second, and arrives `latency` seconds later."""

    def __init__(self, hosts, latency, bandwidth):
        self.names = [f"ondine{os.getpid()}_{i}" for i in range(hosts)]
        self.latency, self.bandwidth = latency, bandwidth
        self.tuns, self.ends = [], False
        self.free_at = [0.0] * hosts
        self.carried = 0
        try:
            for number, name in enumerate(self.names):
                run("ip", "netns", "add", name)
                self.tuns.append(open_tun(name, "link0"))
                inside = ["ip", "netns", "exec", name, "ip"]
                # A connection that has found its speed keeps it between two steps.
                run(*inside[:-1], "sysctl", "-qw", "net.ipv4.tcp_slow_start_after_idle=0")
                run(*inside, "link", "set", "lo", "up")
                run(*inside, "addr", "add", f"10.77.0.{number + 1}/24", "dev", "link0")
                run(*inside, "link", "set", "link0", "mtu", str(MTU), "txqueuelen", "10000", "up")
        except BaseException:
            self.close()
            raise
        self.thread = threading.Thread(target=self.carry, daemon=True)
        self.thread.start()

    def inside(self, number):
        """What stands before a command that host `number` runs."""
        return ["ip", "netns", "exec", self.names[number]]

    def read_all(self, number, waiting):
        now = time.monotonic()
        while True:
            try:
                packet = os.read(self.tuns[number], MTU + 100)
            except BlockingIOError:
                return
            host = packet[19] - 1
            if packet[0] >> 4 != 4 or packet[16:19] != b"\x0a\x4d\x00" or not 0 <= host < len(
                    self.tuns):
                continue  # no packet of IPv4 for one of the hosts
            self.free_at[number] = max(self.free_at[number], now) + len(packet) / self.bandwidth
            self.carried += len(packet)
            heapq.heappush(waiting, (self.free_at[number] + self.latency, self.carried, host, packet))

    def carry(self):
        waiting = []
        while not self.ends:
            pause = 0.05
            if waiting:
                pause = max(0.0, min(pause, waiting[0][0] - time.monotonic()))
            ready, _, _ = select.select(self.tuns, [], [], pause)
            for tun in ready:
                self.read_all(self.tuns.index(tun), waiting)
            now = time.monotonic()
            while waiting and waiting[0][0] <= now:
                _, _, host, packet = heapq.heappop(waiting)
                try:
                    os.write(self.tuns[host], packet)
                except OSError:
                    pass  # a queue that is full loses packets, as a network does

    def close(self):
        self.ends = True
        if hasattr(self, "thread"):
            self.thread.join()
        for tun in self.tuns:
            os.close(tun)
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
