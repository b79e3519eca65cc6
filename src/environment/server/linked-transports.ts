import { InMemoryTransport } from '@modelcontextprotocol/server';

/** Makes two connected transports in this process. Messages are copied as JSON, as on a wire. */
export function createLinkedTransports(): readonly [InMemoryTransport, InMemoryTransport] {
  const [one, other] = InMemoryTransport.createLinkedPair();
  copyMessages(one);
  copyMessages(other);
  return [one, other];
}

function copyMessages(transport: InMemoryTransport): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => send(JSON.parse(JSON.stringify(message)), options);
}
