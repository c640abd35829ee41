import { CalendarDate, parseDate } from "@internationalized/date";
import { useEffect, useState } from "react";
import { Button } from "react-aria-components/Button";
import { Calendar, CalendarCell, CalendarGrid } from "react-aria-components/Calendar";
import { DateInput, DateSegment } from "react-aria-components/DateField";
import { DatePicker } from "react-aria-components/DatePicker";
import { Dialog } from "react-aria-components/Dialog";
import { Group } from "react-aria-components/Group";
import { Heading } from "react-aria-components/Heading";
import { I18nProvider } from "react-aria-components/I18nProvider";
import { Popover } from "react-aria-components/Popover";

const first = new CalendarDate(2000, 1, 1);
const last = new CalendarDate(2199, 12, 31);

/** A date that is typed or picked. Typing jumps on Enter or when the field is left, never at each key. */
export function DateJump({ value, label, jump }: { value: string; label: string; jump: (date: string) => void }) {
  const [draft, setDraft] = useState<CalendarDate | null>(null);
  const [open, setOpen] = useState(false);
  const shown = draft ?? parseDate(value);
  useEffect(() => setDraft(null), [value]);
  const commit = (date: CalendarDate | null) => {
    if (date && date.compare(first) >= 0 && date.compare(last) <= 0 && date.toString() !== value) jump(date.toString());
    setDraft(null);
  };
  return (
    <I18nProvider locale="en-CA">
      <div onKeyDownCapture={(e) => e.key === "Enter" && !open && commit(draft)}>
        <DatePicker
          aria-label={label} className="datepicker" value={shown} isOpen={open} onOpenChange={setOpen} onBlur={() => !open && commit(draft)}
          onChange={(d) => (open ? commit(d as CalendarDate) : setDraft(d as CalendarDate))}
        >
          <Group className="datefield">
            <DateInput>{(segment) => <DateSegment segment={segment} />}</DateInput>
            <Button className="icon" aria-label="Open the calendar">▾</Button>
          </Group>
          <Popover className="popover">
            <Dialog>
              <Calendar>
                <header><Button slot="previous" className="icon">‹</Button><Heading /><Button slot="next" className="icon">›</Button></header>
                <CalendarGrid>{(date) => <CalendarCell date={date} />}</CalendarGrid>
              </Calendar>
            </Dialog>
          </Popover>
        </DatePicker>
      </div>
    </I18nProvider>
  );
}
