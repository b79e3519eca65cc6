import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A way to a server on this machine that can be cut, until the test ends. */
export interface Relay {
  readonly port: number;
  /** Ends all connections; new ones are refused until `mend`. */
  cut(): void;
  mend(): Promise<void>;
  /** The next message that holds the text reaches the server, and its answer is lost with the connection. */
  loseAnswerTo(text: string): void;
  /** Answers that were lost on purpose. */
  readonly lost: number;
}

export async function startRelay(target: number): Promise<Relay> {
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  let doomed: string | undefined;
  let lost = 0;

  function accept(socket: Socket): void {
    const onward = createConnection(target, '127.0.0.1');
    let isDoomed = false;
    socket.on('data', (data) => {
      if (doomed !== undefined && data.includes(doomed)) {
        doomed = undefined;
        isDoomed = true;
      }
      onward.write(data);
    });
    onward.on('data', (data) => {
      if (!isDoomed) return void socket.write(data);
      lost += 1;
      socket.destroy();
      onward.destroy();
    });
    for (const [each, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      sockets.add(each);
      each
        .on('error', () => other.destroy())
        .on('close', () => {
          sockets.delete(each);
          other.destroy();
        });
    }
  }

  function listen(port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const started = createServer(accept).once('error', reject);
      server = started;
      started.listen(port, '127.0.0.1', () => {
        const address = started.address();
        resolve(typeof address === 'object' && address !== null ? address.port : 0);
      });
    });
  }

  function cut(): void {
    server?.close();
    for (const socket of sockets) socket.destroy();
  }

  const port = await listen(0);
  onTestFinished(cut);
  return {
    port,
    cut,
    mend: async () => void (await listen(port)),
    loseAnswerTo(text) {
      doomed = text;
    },
    get lost() {
      return lost;
    },
  };
}
