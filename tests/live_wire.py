"""Runs its arguments where a second machine is behind an interface, for tests/test_live.py. The
command runs in a network namespace with the interface `wire`. Another namespace acts as the machine
and has 10.0.0.2 on its `nic`. A thread copies frames between the two TAP devices.
"""

import ctypes
import fcntl
import os
import selectors
import socket
import struct
import subprocess
import sys
import threading

CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TAP, IFF_NO_PI, IFF_UP = 0x400454CA, 0x2, 0x1000, 0x1
SIOCSIFADDR, SIOCSIFNETMASK, SIOCSIFFLAGS, SIOCETHTOOL = 0x8916, 0x891C, 0x8914, 0x8946
ETHTOOL_SGRO = 0x2C


def interface(name: str, address: str | None) -> int:
    """Creates a TAP device in the calling thread's network namespace and brings it up."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for request, value in (
            ((SIOCSIFADDR, address), (SIOCSIFNETMASK, "255.255.0.0")) if address else ()
        ):
            fcntl.ioctl(
                control,
                request,
                struct.pack(
                    "16sHH4s16x", name.encode(), socket.AF_INET, 0, socket.inet_aton(value)
                ),
            )
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH22x", name.encode(), IFF_UP))
    return device


def joins_segments(name: str, on: bool) -> None:
    value = ctypes.create_string_buffer(struct.pack("II", ETHTOOL_SGRO, on))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(
            control, SIOCETHTOOL, struct.pack("16sQ16x", name.encode(), ctypes.addressof(value))
        )


def new_namespace() -> None:
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "making a network namespace")


def echo(server: socket.socket) -> None:
    while True:
        data, sender = server.recvfrom(2048)
        server.sendto(data, sender)


def serve(server: socket.socket) -> None:
    while True:
        connection, _ = server.accept()
        with connection:
            content = bytearray()
            while part := connection.recv(1 << 16):
                content += part
            connection.sendall(content)


def machine(ready: threading.Event, devices: list[int]) -> None:
    """Answers at port 7 (echoes datagrams) and port 8 (echoes a connection's data
    after its end).
    """
    new_namespace()
    devices.append(interface("nic", "10.0.0.2"))
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind(("10.0.0.2", 7))
    connections = socket.create_server(("10.0.0.2", 8))
    threading.Thread(target=echo, args=(datagrams,), daemon=True).start()
    threading.Thread(target=serve, args=(connections,), daemon=True).start()
    ready.set()


def copy(one: int, other: int) -> None:
    with selectors.DefaultSelector() as ready:
        ready.register(one, selectors.EVENT_READ, other)
        ready.register(other, selectors.EVENT_READ, one)
        while True:
            for key, _ in ready.select():
                try:
                    os.write(key.data, os.read(key.fd, 1 << 16))
                except BlockingIOError:
                    continue


if __name__ == "__main__":
    state, *arguments = sys.argv[1:]
    new_namespace()
    devices = [interface("wire", "192.0.2.1" if state == "used" else None)]
    joins_segments("wire", state == "joins")
    ready = threading.Event()
    # The thread's sockets and device keep the namespace alive.
    threading.Thread(target=machine, args=(ready, devices), daemon=True).start()
    if not ready.wait(10):
        sys.exit("no machine")
    threading.Thread(target=copy, args=devices, daemon=True).start()
    sys.exit(subprocess.run(arguments).returncode)
