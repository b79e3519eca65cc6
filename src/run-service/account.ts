import { LOCAL_CALLER } from '../http/api-keys.ts';
import type { Caller } from '../http/route.ts';

/** Whose runs a request may see and make. */
export function accountOf(caller: Caller | undefined): string {
  return (caller ?? LOCAL_CALLER).account;
}
