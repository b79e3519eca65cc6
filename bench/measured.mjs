/** Tells its live heap and processor time when it is asked over IPC, and calls back at `go`. */
export function answerQuestions(onGo = () => {}) {
  process.on('message', async (question) => {
    if (question === 'go') return onGo();
    if (question === 'cpu') return process.send?.(process.cpuUsage());
    // What a request leaves behind may need a turn of the event loop before nothing holds it any more.
    for (let round = 0; round < 4; round += 1) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      globalThis.gc?.();
    }
    process.send?.(process.memoryUsage());
  });
}
