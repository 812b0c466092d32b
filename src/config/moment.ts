import { z } from 'zod';

const MOMENT = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2}(?::\d{2})?)(Z|[+-]\d{2}:\d{2})?)?$/;

/** A setting that is a moment: `2026-12-01` (the start of that day) or `2026-12-01T09:00`, in `timeZone` unless it has an offset. */
export function momentIn(timeZone: string) {
  return z.string().transform((text, context) => {
    const at = parseMoment(text, timeZone);
    if (at !== null) return at;
    context.addIssue('has to be a date like 2026-12-01, or a time like 2026-12-01T09:00');
    return z.NEVER;
  });
}

function parseMoment(text: string, timeZone: string): Date | null {
  const [, day, time = '00:00', offset] = MOMENT.exec(text) ?? [];
  if (day === undefined) return null;
  const wall = new Date(`${day}T${time}${offset ?? 'Z'}`);
  // The 31st of a month with 30 days is read as the 1st of the next one; it was not meant.
  if (Number.isNaN(wall.getTime())) return null;
  if (offset !== undefined) return wall;
  if (wall.toISOString().slice(0, 10) !== day) return null;
  // Twice, because the offset may be another one at the moment that the first guess gives.
  const guess = wall.getTime() - offsetMs(wall, timeZone);
  return new Date(wall.getTime() - offsetMs(new Date(guess), timeZone));
}

/** How far the clocks of `timeZone` are ahead of UTC at a moment. */
function offsetMs(at: Date, timeZone: string): number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    ...{
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    },
  } as Intl.DateTimeFormatOptions);
  const part = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]));
  const get = (type: Intl.DateTimeFormatPartTypes) => part.get(type) ?? '';
  const wall = `${get('year')}-${get('month')}-${get('day')}T${get('hour')}:${get('minute')}:${get('second')}Z`;
  return Date.parse(wall) - Math.floor(at.getTime() / 1000) * 1000;
}
