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
  /** The next message that holds the text reaches the server, and its sender loses the connection at once. Resolves then. */
  leaveWith(text: string): Promise<void>;
  /** The next message that holds the text waits. Resolves once it is there, with what lets it go on. */
  hold(text: string): Promise<() => void>;
  /** Answers that were lost on purpose. */
  readonly lost: number;
}

export async function startRelay(target: number): Promise<Relay> {
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  let doomed: string | undefined;
  let leaving: { readonly text: string; readonly onLeft: () => void } | undefined;
  let held: { readonly text: string; readonly onHeld: (release: () => void) => void } | undefined;
  let lost = 0;

  function accept(socket: Socket): void {
    const onward = createConnection(target, '127.0.0.1');
    let isDoomed = false;
    let isLeft = false;
    socket.on('data', (data) => {
      if (held !== undefined && data.includes(held.text)) {
        const { onHeld } = held;
        held = undefined;
        onHeld(() => onward.write(data)); // Nothing follows it: whoever asks waits for the answer.
        return;
      }
      if (doomed !== undefined && data.includes(doomed)) {
        doomed = undefined;
        isDoomed = true;
      }
      onward.write(data);
      if (leaving === undefined || !data.includes(leaving.text)) return;
      isLeft = true;
      socket.destroy();
      leaving.onLeft();
      leaving = undefined;
    });
    onward.on('data', (data) => {
      if (isLeft) return;
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
          if (!isLeft) other.destroy(); // else the server goes on
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
    leaveWith: (text) =>
      new Promise((onLeft) => {
        leaving = { text, onLeft };
      }),
    hold: (text) =>
      new Promise((onHeld) => {
        held = { text, onHeld };
      }),
    get lost() {
      return lost;
    },
  };
}
