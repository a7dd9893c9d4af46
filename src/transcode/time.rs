//! A timestamp as text.

use std::fmt::{Display, Formatter, Result};

const SECONDS_A_DAY: i64 = 86_400;

/// ISO 8601 in UTC, as `Date.prototype.toISOString` has it where that is exact: three digits of a
/// second, nine where three would lose some. Years outside 0 to 9999 have a sign and six digits at
/// least.
pub struct Iso {
    pub seconds: i64,
    pub nanoseconds: u32,
}

impl Display for Iso {
    fn fmt(&self, f: &mut Formatter) -> Result {
        let (year, month, day) = date(self.seconds.div_euclid(SECONDS_A_DAY));
        match year {
            0..=9999 => write!(f, "{year:04}")?,
            _ => write!(f, "{year:+07}")?,
        }
        let second = self.seconds.rem_euclid(SECONDS_A_DAY);
        let (hour, minute) = (second / 3600, second / 60 % 60);
        write!(f, "-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}.", second % 60)?;
        match self.nanoseconds % 1_000_000 {
            0 => write!(f, "{:03}Z", self.nanoseconds / 1_000_000),
            _ => write!(f, "{:09}Z", self.nanoseconds),
        }
    }
}

/// Year, month and day of a day counted from 1970-01-01, in the Gregorian calendar both ways. Months
/// are counted from March, so that the day that a leap year adds is the last one of its year.
fn date(days: i64) -> (i64, i64, i64) {
    const DAYS_IN_400_YEARS: i64 = 146_097;
    /// From 0000-03-01 to 1970-01-01.
    const BEFORE_1970: i64 = 719_468;
    let days = days + BEFORE_1970;
    let cycle = days.div_euclid(DAYS_IN_400_YEARS);
    let day = days.rem_euclid(DAYS_IN_400_YEARS);
    // Days of a year that are left over: one in each 4 years, none in each 100, one in 400.
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // 153 days are five months from March, or from August, or from January.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    (400 * cycle + year, month, day)
}

#[cfg(test)]
mod tests {
    use super::Iso;

    fn iso(seconds: i64, nanoseconds: u32) -> String {
        Iso { seconds, nanoseconds }.to_string()
    }

    #[test]
    fn days_and_fractions() {
        assert_eq!(iso(0, 0), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso(-1, 999_000_000), "1969-12-31T23:59:59.999Z");
        assert_eq!(iso(951_782_400, 0), "2000-02-29T00:00:00.000Z");
        assert_eq!(iso(4_107_542_400, 0), "2100-03-01T00:00:00.000Z");
        assert_eq!(iso(1_700_000_000, 1), "2023-11-14T22:13:20.000000001Z");
        assert_eq!(iso(1_700_000_000, 123_456_789), "2023-11-14T22:13:20.123456789Z");
        assert_eq!(iso(-62_167_219_200, 0), "0000-01-01T00:00:00.000Z");
        assert_eq!(iso(-62_167_219_201, 0), "-000001-12-31T23:59:59.000Z");
        assert_eq!(iso(253_402_300_800, 0), "+010000-01-01T00:00:00.000Z");
        assert_eq!(iso(8_640_000_000_000, 0), "+275760-09-13T00:00:00.000Z");
        assert_eq!(iso(-8_640_000_000_000, 0), "-271821-04-20T00:00:00.000Z");
        assert_eq!(iso(i64::MIN, 999_999_999), "-292277022657-01-27T08:29:52.999999999Z");
        assert_eq!(iso(i64::MAX, 0), "+292277026596-12-04T15:30:07.000Z");
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let mut before = super::date(-1_000_000);
        for day in -999_999..1_000_000 {
            let (year, month, date) = super::date(day);
            let follows = (year, month, date - 1) == before
                || date == 1 && (year, month - 1) == (before.0, before.1)
                || (month, date) == (1, 1) && (year - 1, 12, 31) == before;
            assert!(follows, "{day}: {before:?} {:?}", (year, month, date));
            before = (year, month, date);
        }
    }
}
