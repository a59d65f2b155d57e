"""What the interop tests share: the gateway's process, an MGCP agent, RTP peers, metrics."""
