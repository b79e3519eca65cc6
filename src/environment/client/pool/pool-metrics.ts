import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Gauge, type Registry } from 'prom-client';
import { startTicker } from '../../../support/runtime/ticker.ts';
import type { EnvironmentTarget } from '../environment-client.ts';
import type { EnvironmentPool } from './environment-pool.ts';

/** Milliseconds that the lag of the event loop is measured over. */
const LAG_WINDOW_MS = 10_000;
const NS_PER_S = 1e9;

/**
 * Adds gauges for the environment processes of a pool, and for the event loop lag of this process and of its hosts.
 *
 * @returns a function that stops the measurement.
 */
export function addPoolMetrics(
  registry: Registry,
  pool: EnvironmentPool,
  environments: ReadonlyMap<string, EnvironmentTarget>,
): () => void {
  const registers = [registry];
  new Gauge({
    name: 'proctor_environment_processes',
    help: 'Processes of environments: of one session each, hosts of many, and those that wait for a session',
    labelNames: ['environment', 'kind'],
    registers,
    collect() {
      this.reset();
      for (const [environment, target] of environments) {
        const { sessions, spares, hosts } = pool.figures(target);
        this.set({ environment, kind: 'session' }, sessions);
        this.set({ environment, kind: 'spare' }, spares);
        this.set({ environment, kind: 'host' }, hosts.length);
      }
    },
  });
  new Gauge({
    name: 'proctor_hosts',
    help: 'Processes that hold many sessions, by whether they take more',
    labelNames: ['environment', 'state'],
    registers,
    collect() {
      this.reset();
      for (const [environment, target] of environments) {
        const { hosts } = pool.figures(target);
        for (const state of ['open', 'draining']) {
          this.set({ environment, state }, hosts.filter((host) => host.state === state).length);
        }
      }
    },
  });
  new Gauge({
    name: 'proctor_host_sessions',
    help: 'Sessions of a host',
    labelNames: ['environment', 'host'],
    registers,
    collect() {
      this.reset();
      for (const [environment, target] of environments) {
        for (const { host, sessions } of pool.figures(target).hosts) this.set({ environment, host }, sessions);
      }
    },
  });
  new Gauge({
    name: 'proctor_starts_waiting',
    help: 'Sessions that wait for the start of a process, or for a place in a host',
    registers,
    collect() {
      this.set(pool.starts.waiting);
    },
  });
  new Gauge({
    name: 'proctor_starts_active',
    help: 'Processes of environments that are being started',
    registers,
    collect() {
      this.set(pool.starts.starting);
    },
  });
  const lag = watchLag();
  new Gauge({
    name: 'proctor_event_loop_lag_seconds',
    help: 'Lag of an event loop, p99 of the last 10 s',
    labelNames: ['process', 'host'],
    registers,
    collect() {
      this.reset();
      this.set({ process: 'server', host: '' }, lag.seconds());
      for (const target of environments.values()) {
        for (const { host, lagMs } of pool.figures(target).hosts) this.set({ process: 'host', host }, lagMs / 1_000);
      }
    },
  });
  return lag.stop;
}

function watchLag(): { seconds(): number; stop(): void } {
  const resolutionMs = 20;
  const histogram = monitorEventLoopDelay({ resolution: resolutionMs });
  histogram.enable();
  let last = 0;
  // The histogram includes the interval of its own timer, so it is subtracted.
  const current = () => Math.max(0, histogram.percentile(99) / NS_PER_S - resolutionMs / 1_000);
  const ticker = startTicker(() => {
    last = current();
    histogram.reset();
  }, LAG_WINDOW_MS);
  return {
    seconds: () => Math.max(last, current()),
    stop() {
      ticker.stop();
      histogram.disable();
    },
  };
}
