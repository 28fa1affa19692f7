"""Frames on a stream socket, between server, zygote and workers: a length in four bytes, then that many bytes.

A worker ends its reply with an empty frame. `ERROR` in place of a length announces a frame that says why there is no
reply.
"""

import socket
import struct

LENGTH = struct.Struct("=I")
ERROR = 0xFFFF_FFFF


def receive(channel: socket.socket, size: int) -> bytes:
    """Exactly `size` bytes from `channel`.

    Raises:
        EOFError: the other end closed before.
    """
    chunks: list[bytes] = []
    while size:
        chunk = channel.recv(min(size, 1 << 20))
        if not chunk:
            raise EOFError("the other end closed")
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)


def receive_length(channel: socket.socket) -> int:
    """The length that begins a frame."""
    length: int = LENGTH.unpack(receive(channel, LENGTH.size))[0]
    return length


def receive_frame(channel: socket.socket) -> bytes:
    """One frame."""
    return receive(channel, receive_length(channel))


def send_frame(channel: socket.socket, data: bytes) -> None:
    """Write one frame; an empty one is the end."""
    channel.sendall(LENGTH.pack(len(data)) + data)


def send_error(channel: socket.socket, text: str) -> None:
    """Write the frame that says why there is no reply."""
    channel.sendall(LENGTH.pack(ERROR))
    send_frame(channel, text.encode())


def send_order(control: socket.socket, order: bytes, *channels: socket.socket) -> None:
    """Write one frame that carries the descriptors of `channels`."""
    message = LENGTH.pack(len(order)) + order
    sent = socket.send_fds(control, [message], [one.fileno() for one in channels])
    if sent < len(message):  # a reader that has all of it may be gone already
        control.sendall(message[sent:])


def receive_order(control: socket.socket, count: int) -> tuple[bytes, list[socket.socket]]:
    """One frame that carries `count` descriptors, which come back as sockets that programs do not inherit.

    Raises:
        EOFError: the other end closed.
    """
    head, descriptors, _, _ = socket.recv_fds(control, LENGTH.size, count, getattr(socket, "MSG_CMSG_CLOEXEC", 0))
    if len(head) < LENGTH.size or len(descriptors) != count:
        raise EOFError("the other end closed")
    return receive(control, LENGTH.unpack(head)[0]), [socket.socket(fileno=one) for one in descriptors]
