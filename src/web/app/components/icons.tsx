/** Logo: a tick in a frame. */
export function Brand() {
  return (
    <svg class="brand-mark" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
      <rect x="1.5" y="1.5" width="17" height="17" rx="5" fill="none" stroke="currentColor" stroke-width="1.8" />
      <path
        d="M5.8 10.4l2.9 2.9 5.6-6.2"
        fill="none"
        stroke="currentColor"
        stroke-width="2"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}

const PATHS = {
  copy: 'M6 6V3.5A1.5 1.5 0 0 1 7.5 2h5A1.5 1.5 0 0 1 14 3.5v5a1.5 1.5 0 0 1-1.5 1.5H10M3.5 6h5A1.5 1.5 0 0 1 10 7.5v5A1.5 1.5 0 0 1 8.5 14h-5A1.5 1.5 0 0 1 2 12.5v-5A1.5 1.5 0 0 1 3.5 6z',
  check: 'M3 8.5l3.2 3.2L13 4.8',
  chevron: 'M6 3.5L10.5 8 6 12.5',
  sun: 'M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6z',
  moon: 'M13.5 9.8A6 6 0 0 1 6.2 2.5a6 6 0 1 0 7.3 7.3z',
  system: 'M2 3h12v8H2zM6 14h4M8 11v3',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.4 10.4L14 14',
  close: 'M4 4l8 8M12 4l-8 8',
  link: 'M6.5 9.5a2.5 2.5 0 0 0 3.6 0l2.2-2.2a2.5 2.5 0 0 0-3.6-3.6l-.8.8M9.5 6.5a2.5 2.5 0 0 0-3.6 0L3.7 8.7a2.5 2.5 0 0 0 3.6 3.6l.8-.8',
  left: 'M10 3L5 8l5 5',
  right: 'M6 3l5 5-5 5',
} as const;

export type IconName = keyof typeof PATHS;

/** A decorative icon. The text beside it has the meaning. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class={`icon icon-${name}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path
        d={PATHS[name]}
        fill="none"
        stroke="currentColor"
        stroke-width="1.5"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}
