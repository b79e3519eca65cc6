import { z } from 'zod';

/**
 * The lines of JSON between a process that holds many sessions of an environment, a host, and the process that started it.
 * They go over a descriptor of their own. Messages of the sessions go over a socket.
 */

/** The first line to a host: where it has to listen, and the secret that each connection begins with. */
export const hostStartSchema = z.object({
  kind: z.literal('start'),
  socket: z.string().min(1),
  secret: z.string().min(16),
  /** As many as the environment says where this is left out. */
  sessions_per_process: z.int().min(1).optional(),
});

/** A later line to a host: it takes no new session, and ends with the last one. */
export const hostDrainSchema = z.object({ kind: z.literal('drain') });

/** The second line of a connection, after the secret: its session, and the harness key of that session alone. */
export const hostedSessionSchema = z.object({
  /** The starter's name of the session, which reports repeat. No secret. */
  session: z.string().min(1).max(128),
  harness_key: z.string().min(16).max(512),
});

/** A line from a host. */
export const hostReportSchema = z.discriminatedUnion('kind', [
  /** It listens. Of the environment. */
  z.object({
    kind: z.literal('listening'),
    name: z.string(),
    version: z.string(),
    sessions_per_process: z.int().min(1),
  }),
  /** Once a second, by a thread that a busy loop does not hold up: lag of the loop (p99 of the last 10 s), memory. */
  z.object({
    kind: z.literal('gauges'),
    sessions: z.int().min(0),
    lag_ms: z.number().min(0),
    resident_bytes: z.number().min(0),
  }),
  /** It ends because of author code; `session` is the one whose code it was, null where nobody knows. */
  z.object({ kind: z.literal('failed'), session: z.string().nullable(), text: z.string() }),
  /** It is killed because its loop has not turned for so long. */
  z.object({ kind: z.literal('stuck'), ms: z.number(), cpu_ms: z.number() }),
]);

export type HostStart = z.infer<typeof hostStartSchema>;
export type HostedSession = z.infer<typeof hostedSessionSchema>;
export type HostReport = z.infer<typeof hostReportSchema>;

/** The method of the notification that carries a line which the code of a session printed, to the starter alone. */
export const PRINTED_METHOD = 'svc/printed';

/** Bytes that the path of a socket may have: systems take 104 or 108, the last one a zero. */
export const MAX_SOCKET_PATH_BYTES = 99;
