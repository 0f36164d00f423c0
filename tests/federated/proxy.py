"""A TCP proxy that keeps what goes through it."""
import socket
import threading


class Proxy:
    """Listens on a port of its own and connects to `target`. `sent` and `received` have the bytes
    of each connection, from the side of who connects."""

    def __init__(self, target):
        self.target = target
        self.sent, self.received = [], []
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            sent, received = bytearray(), bytearray()
            self.sent.append(sent)
            self.received.append(received)
            for ends in ((client, server, sent), (server, client, received)):
                threading.Thread(target=self.pump, args=ends, daemon=True).start()

    @staticmethod
    def pump(source, to, kept):
        try:
            while data := source.recv(1 << 16):
                kept += data
                to.sendall(data)
            to.shutdown(socket.SHUT_WR)
        except OSError:
            to.close()
