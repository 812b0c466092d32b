/**
 * A moment as people read it on cards, pages and notices: `2026-11-30 18:20 (Asia/Shanghai, UTC+8)`. Seconds are left
 * off, so a deadline never reads later than it is. `timeZone` is an IANA name; a wrong one throws a RangeError.
 */
export function zonedTime(at: Date, timeZone: string): string {
  const parts = new Map(
    formatOf(timeZone)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  );
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? '';
  const offset = part('timeZoneName').replace('GMT', 'UTC');
  return (
    `${part('year')}-${part('month')}-${part('day')} ${part('hour')}:${part('minute')}` +
    ` (${timeZone}, ${offset === 'UTC' ? 'UTC+0' : offset})`
  );
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known) return known;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    timeZoneName: 'shortOffset',
  });
  formats.set(timeZone, format);
  return format;
}
