/** Starts two things at the same instant, `rounds` times, and collects how each round ended. */
export async function race<One, Other>(
  rounds: number,
  round: () => Promise<{ readonly one: () => Promise<One>; readonly other: () => Promise<Other> }>,
): Promise<readonly (readonly [One, Other])[]> {
  const ends: (readonly [One, Other])[] = [];
  for (let at = 0; at < rounds; at += 1) {
    const { one, other } = await round();
    ends.push(at % 2 === 0 ? await Promise.all([one(), other()]) : await swapped(one, other));
  }
  return ends;
}

/** The other one first, so that neither always has the earlier start. */
async function swapped<One, Other>(
  one: () => Promise<One>,
  other: () => Promise<Other>,
): Promise<readonly [One, Other]> {
  const [second, first] = await Promise.all([other(), one()]);
  return [first, second];
}
