import { readdirSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Route } from './api/route.ts';
import type { AnsweredRequest } from './request-log.ts';

export interface HttpMetrics {
  /** The registry of this server. Other parts add metrics to it. */
  readonly registry: Registry;
  readonly observe: (answered: AnsweredRequest) => void;
  /** `GET /metrics`. On a loopback bind it needs no key. */
  readonly route: Route;
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'OPTIONS']);
const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 240];

/**
 * Prometheus metrics of one HTTP server and its process. Labels have few values: routes appear as patterns, never as
 * texts of clients.
 */
export function createHttpMetrics(): HttpMetrics {
  const registry = new Registry();
  const registers = [registry];
  const requests = new Counter({
    name: 'proctor_http_requests_total',
    help: 'Requests that were answered, by route and status',
    labelNames: ['method', 'route', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'proctor_http_request_duration_seconds',
    help: 'From the head of a request to the end of its reply',
    labelNames: ['method', 'route'],
    buckets: SECONDS,
    registers,
  });
  addProcessMetrics(registry);
  return {
    registry,
    observe({ method: name, route = 'unknown', status, durationMs }) {
      const method = METHODS.has(name) ? name : 'other';
      requests.inc({ method, route, status: status ?? 'none' });
      durations.observe({ method, route }, durationMs / 1_000);
    },
    route: {
      method: 'GET',
      path: '/metrics',
      summary: 'Metrics of this server as Prometheus text',
      access: 'loopback',
      about: { contentType: 'text/plain' },
      handle: async () => ({ headers: { 'content-type': registry.contentType }, body: await registry.metrics() }),
    },
  };
}

/** Adds process metrics that are read on demand, so there is no timer to stop. */
function addProcessMetrics(registry: Registry): void {
  const registers = [registry];
  const gauge = (name: string, help: string, read: () => number | undefined) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        const value = read();
        if (value !== undefined) this.set(value);
      },
    });
  gauge('process_resident_memory_bytes', 'Resident memory', () => process.memoryUsage.rss());
  gauge('nodejs_heap_size_used_bytes', 'Heap in use', () => process.memoryUsage().heapUsed);
  gauge('nodejs_heap_size_total_bytes', 'Heap in all', () => process.memoryUsage().heapTotal);
  gauge('nodejs_external_memory_bytes', 'Memory of what is bound to the heap', () => process.memoryUsage().external);
  gauge('process_start_time_seconds', 'Start, since 1970', () => Math.round(performance.timeOrigin / 1_000));
  gauge('process_open_fds', 'Open file descriptors', countDescriptors);
  gauge(
    'nodejs_eventloop_utilization',
    'Share of its life that the event loop was busy',
    () => performance.eventLoopUtilization().utilization,
  );
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'Time of user and system',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1_000_000);
    },
  });
}

/** Number of open descriptors; undefined where the system does not report it. */
function countDescriptors(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return undefined;
  }
}
