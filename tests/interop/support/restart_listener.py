"""What a gateway tells its call agents of its coming and going."""

import select

from support.ports import udp_socket
from support.waiting import wait_for


class RestartListener:
    """A call agent that answers the gateway's RSIP and keeps what they said."""

    def __init__(self):
        self.socket = udp_socket("127.0.0.1")
        self.entity = f"agent@127.0.0.1:{self.socket.getsockname()[1]}"
        self.notices = []
        self.known = set()

    def take(self):
        while select.select([self.socket], [], [], 0)[0]:
            text, source = self.socket.recvfrom(65536)
            lines = text.decode().split("\r\n")
            transaction = lines[0].split()[1]
            self.socket.sendto(f"200 {transaction} OK\r\n".encode(), source)
            if transaction not in self.known:
                self.known.add(transaction)
                self.notices.append(" ".join(lines[1:]).strip())
        return self.notices

    def wait_for(self, *notices):
        try:
            wait_for(lambda: self.take() == list(notices), "RSIP")
        except AssertionError as error:
            raise AssertionError(f"{error}: {notices}, not {self.notices}") from None

    def close(self):
        self.socket.close()
