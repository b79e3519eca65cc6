import { Changes } from '../../environment/changes.ts';
import type { Audience } from '../../environment/definition.ts';

/** Something of a session that its client may have read is different now. */
export type SessionChange =
  /** A list has another content. */
  | { readonly kind: 'tools' | 'resources' | 'prompts'; readonly audience: Audience }
  /** A resource has another content. */
  | { readonly kind: 'resource'; readonly uri: string; readonly audience: Audience };

/**
 * What changes in a session while it is open, for whoever tells its clients. `audience` of a change is who may learn of
 * it: what concerns the harness alone must reach no agent, which would learn from it that something is hidden.
 */
export class SessionChanges extends Changes<SessionChange> {}
