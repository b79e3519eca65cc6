/** Media types of images and audio by file ending. The first ending of a type is used for writing. */
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
  /** Ending of all other types. */
  bin: 'application/octet-stream',
};

const ENDINGS: ReadonlyMap<string, string> = new Map(
  Object.entries(TYPES)
    .reverse()
    .map(([ending, type]) => [type, ending]),
);

/** The type of a file by its name; undefined unless it is image, audio or `.bin`. */
export function mediaTypeOf(path: string): string | undefined {
  const ending = /\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? '';
  return Object.hasOwn(TYPES, ending) ? TYPES[ending] : undefined;
}

/** The file ending of a type, without its dot. */
export function endingOf(mimeType: string): string {
  return ENDINGS.get(mimeType) ?? 'bin';
}
