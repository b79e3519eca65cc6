import { useEffect, useState } from 'preact/hooks';

/** Counts the seconds since it was mounted. Screen readers skip it. */
export function Seconds() {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const startedAt = performance.now();
    const timer = setInterval(() => setSeconds(Math.floor((performance.now() - startedAt) / 1_000)), 1_000);
    return () => clearInterval(timer);
  }, []);
  return <span aria-live="off">{seconds === 0 ? '' : `${seconds} s`}</span>;
}
