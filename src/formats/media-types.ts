/** Types of images and audio, by the endings of their files; the first ending of a type is the one that is written. */
const TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  svg: 'image/svg+xml',
  wav: 'audio/wav',
  mp3: 'audio/mpeg',
  m4a: 'audio/mp4',
  aac: 'audio/aac',
  ogg: 'audio/ogg',
  flac: 'audio/flac',
  webm: 'audio/webm',
  aiff: 'audio/aiff',
  /** Bytes of any other type. */
  bin: 'application/octet-stream',
};

const ENDINGS: ReadonlyMap<string, string> = new Map(
  Object.entries(TYPES)
    .reverse()
    .map(([ending, type]) => [type, ending]),
);

/** The type of a file by its name; undefined for one that is neither image nor audio, nor one of ours. */
export function mediaTypeOf(path: string): string | undefined {
  const ending = /\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? '';
  return Object.hasOwn(TYPES, ending) ? TYPES[ending] : undefined;
}

/** The ending of a file of a type, without its dot. */
export function endingOf(mimeType: string): string {
  return ENDINGS.get(mimeType) ?? 'bin';
}
