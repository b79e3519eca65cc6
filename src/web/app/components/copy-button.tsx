import { useState } from 'preact/hooks';
import { Icon } from './icons.tsx';

const THANKS_MS = 1_500;

/** Copies a text, including hidden characters. The text is created on click. */
export function CopyButton({ text, label = 'Copy' }: { text(): string; readonly label?: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await copyText(text());
    setCopied(true);
    setTimeout(() => setCopied(false), THANKS_MS);
  };
  return (
    <button
      type="button"
      class="icon-button small"
      title={label}
      aria-label={isCopied ? 'Copied' : label}
      onClick={() => void copy()}
    >
      <Icon name={isCopied ? 'check' : 'copy'} />
    </button>
  );
}

/** Browsers offer no clipboard to pages without HTTPS, except on this machine. */
async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
}
