#pragma once

// The test port of the suite: it owns all sockets of a test case and feeds what they receive to
// TTCN-3. Titan's main loop is its only thread. Bounded by the number of sockets that a process may
// have.

#include <Net.hh>
#include <string>
#include <vector>

namespace Net {

/// The port type of Net.ttcn. There is one instance in a process, as there is one component.
class NetPort : public NetPort_BASE {
 public:
  /// Titan makes it before main, with the name of the port in its component.
  explicit NetPort(const char* port_name = nullptr);
  ~NetPort() override;
  NetPort(const NetPort&) = delete;
  NetPort& operator=(const NetPort&) = delete;

  /// The mapped instance; a test case that has none ends with an error.
  static NetPort& mapped();

  /// Takes a socket, which becomes non-blocking, and gives its number.
  int add(int descriptor, bool is_stream);
  /// The descriptor of a number; a closed one ends the test case with an error.
  int descriptor_of(int socket) const;
  /// Closes a socket; its number stays unused.
  void remove(int socket);

 protected:
  void user_map(const char* system_port, Map_Params& parameters) override;
  void user_unmap(const char* system_port, Map_Params& parameters) override;
  void user_start() override {}
  void user_stop() override {}
  void outgoing_send(const Bytes& bytes) override;

 private:
  struct Socket {
    int descriptor = -1;
    bool is_stream = false;
  };

  void Handle_Fd_Event_Readable(int descriptor) override;
  void Handle_Fd_Event_Writable(int descriptor) override;
  void Handle_Fd_Event_Error(int descriptor) override;
  bool receive_one(int socket);
  void report_refusal(int socket);
  void remove_all();

  static NetPort* mapped_;
  std::vector<Socket> sockets_;
  std::vector<unsigned char> buffer_;
};

}  // namespace Net
