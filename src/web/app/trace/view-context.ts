import { createContext } from 'preact';
import type { Picture } from './steps/pictures.ts';

/** Kinds of what a transcript holds, which can be left out of it. */
export const KINDS = ['prompt', 'reasoning', 'text', 'tools', 'images', 'logs'] as const;
export type Kind = (typeof KINDS)[number];

/** Context of every part of a transcript. */
export interface TraceViewContext {
  readonly hidden: ReadonlySet<Kind>;
  /** The pictures of the run by their source. */
  readonly pictures: ReadonlyMap<string, Picture>;
  /** The address of bytes that were stored once by content. */
  blobAddress(sha256: string): string;
  openPicture(source: string): void;
  /** Lets a model go on after a step of the last attempt; undefined where that is not possible. */
  readonly continueFrom?: ((step: number) => void) | undefined;
}

export const TraceContext = createContext<TraceViewContext>({
  hidden: new Set(),
  pictures: new Map(),
  blobAddress: (sha256) => `/v1/blobs/${sha256}`,
  openPicture: () => {},
});
