import { type Theme, useTheme } from '../theme.ts';
import { Icon, type IconName } from './icons.tsx';

const LOOKS: Readonly<Record<Theme, { readonly icon: IconName; readonly label: string }>> = {
  system: { icon: 'system', label: 'Colours of the system' },
  light: { icon: 'sun', label: 'Light colours' },
  dark: { icon: 'moon', label: 'Dark colours' },
};

/** Cycles through the themes: system, light, dark. */
export function ThemeSwitch() {
  const { theme, next } = useTheme();
  const { icon, label } = LOOKS[theme];
  return (
    <button type="button" class="icon-button" onClick={next} title={label} aria-label={`${label}: change`}>
      <Icon name={icon} />
    </button>
  );
}
