// Preloaded into programs that want SCTP on kernels without it: an SCTP association becomes a TCP
// connection. M3UA messages tell their length (RFC 4666 section 1.3.1), so their boundaries
// survive; SCTP's notifications don't exist.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/sctp.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum {
  kM3uaHeaderBytes = 8,
  kM3uaPayloadProtocol = 3,
  kM3uaTransferClass = 1,  // the messages that may not come in stream 0
};

int socket(int domain, int type, int protocol) {
  return (int)syscall(SYS_socket, domain, type, protocol == IPPROTO_SCTP ? IPPROTO_TCP : protocol);
}

int setsockopt(int descriptor, int level, int name, const void* value, socklen_t size) {
  if (level == IPPROTO_SCTP) {
    return 0;
  }
  return (int)syscall(SYS_setsockopt, descriptor, level, name, value, size);
}

// An option of SCTP reads as zeros, in the size of the event subscription: that is what the
// programs ask for.
int getsockopt(int descriptor, int level, int name, void* value, socklen_t* size) {
  if (level == IPPROTO_SCTP) {
    if (*size > sizeof(struct sctp_event_subscribe)) {
      *size = sizeof(struct sctp_event_subscribe);
    }
    memset(value, 0, *size);
    return 0;
  }
  return (int)syscall(SYS_getsockopt, descriptor, level, name, value, size);
}

static socklen_t address_size(const struct sockaddr* address) {
  return address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

int sctp_bindx(int descriptor, struct sockaddr* addresses, int count, int flags) {
  (void)count;
  (void)flags;
  return bind(descriptor, addresses, address_size(addresses));
}

int sctp_connectx(int descriptor, struct sockaddr* addresses, int count,
                  sctp_assoc_t* association) {
  (void)count;
  if (association) {
    *association = 1;
  }
  return connect(descriptor, addresses, address_size(addresses));
}

int sctp_send(int descriptor, const void* message, size_t size, const struct sctp_sndrcvinfo* info,
              int flags) {
  (void)info;
  return (int)send(descriptor, message, size, flags | MSG_NOSIGNAL);
}

int sctp_recvmsg(int descriptor, void* message, size_t size, struct sockaddr* from,
                 socklen_t* from_size, struct sctp_sndrcvinfo* info, int* flags) {
  (void)from;
  (void)from_size;
  uint8_t header[kM3uaHeaderBytes];
  const ssize_t peeked = recv(descriptor, header, sizeof(header), MSG_PEEK);
  if (peeked <= 0) {
    return (int)peeked;
  }
  uint32_t length = 0;
  memcpy(&length, header + 4, sizeof(length));
  length = ntohl(length);
  if (peeked == kM3uaHeaderBytes && (length < kM3uaHeaderBytes || length > size)) {
    errno = EMSGSIZE;
    return -1;
  }
  if (peeked < kM3uaHeaderBytes || recv(descriptor, message, length, MSG_PEEK) < (ssize_t)length) {
    errno = EAGAIN;
    return -1;
  }
  memset(info, 0, sizeof(*info));
  info->sinfo_stream = header[2] == kM3uaTransferClass ? 1 : 0;
  info->sinfo_ppid = htonl(kM3uaPayloadProtocol);
  *flags = MSG_EOR;
  return (int)recv(descriptor, message, length, 0);
}
