"""A server under load: throughput, latencies, memory."""
