import { useState } from 'preact/hooks';

/** `system` follows `prefers-color-scheme`. */
export type Theme = 'system' | 'light' | 'dark';

const THEMES: readonly Theme[] = ['system', 'light', 'dark'];
const STORAGE_KEY = 'proctor-theme';

/** Sets what this browser chose before. Called before anything is drawn. */
export function applyKeptTheme(): void {
  applyTheme(keptTheme());
}

/** The theme, and what goes on to the next one. */
export function useTheme(): { readonly theme: Theme; next(): void } {
  const [theme, setTheme] = useState(keptTheme);
  return {
    theme,
    next() {
      const chosen = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system';
      keepTheme(chosen);
      applyTheme(chosen);
      setTheme(chosen);
    },
  };
}

function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** Storage may be switched off, and a file has none. */
function keptTheme(): Theme {
  try {
    const kept = localStorage.getItem(STORAGE_KEY);
    return THEMES.find((theme) => theme === kept) ?? 'system';
  } catch {
    return 'system';
  }
}

function keepTheme(theme: Theme): void {
  try {
    localStorage.setItem(STORAGE_KEY, theme);
  } catch {
    // It holds until the page is left.
  }
}
