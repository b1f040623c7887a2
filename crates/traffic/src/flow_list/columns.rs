//! Flow lists that the caller has read into columns (Parquet).

use super::row::{Collector, Row};
use super::{FlowListOptions, left_out, refuse_misspelt};
use crate::{Classes, Generated, Place, TrafficError};
use std::path::Path;

/// Columns of a flow list, all of the same length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlowColumns {
    pub start_ns: Vec<u64>,
    pub src: HostColumn,
    pub dst: HostColumn,
    pub bytes: Vec<u64>,
    pub id: Option<Vec<i64>>,
    /// For each row, the index of its class in the list of classes that follows, or `None` if the
    /// row has no class.
    pub class: Option<(Vec<Option<u32>>, Vec<String>)>,
    pub deadline_ns: Option<Vec<Option<u64>>>,
    pub dscp: Option<Vec<Option<u8>>>,
    pub priority: Option<Vec<Option<u8>>>,
    /// Names of the file's other columns, which are not read.
    pub others: Vec<String>,
}

/// Hosts by number, or by name or address. Names are indices into the list of distinct names that
/// follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostColumn {
    Numbers(Vec<u32>),
    Names(Vec<u32>, Vec<String>),
}

impl Default for HostColumn {
    fn default() -> Self {
        HostColumn::Numbers(Vec::new())
    }
}

impl HostColumn {
    fn len(&self) -> usize {
        match self {
            HostColumn::Numbers(rows) | HostColumn::Names(rows, _) => rows.len(),
        }
    }
    /// Returns the host number of each row. A name may also be a number, as in CSV.
    fn numbers(
        &self,
        column: &'static str,
        collector: &Collector,
        file: &Path,
    ) -> Result<Vec<u32>, TrafficError> {
        let (rows, names) = match self {
            HostColumn::Numbers(rows) => return Ok(rows.clone()),
            HostColumn::Names(rows, names) => (rows, names),
        };
        let found: Vec<Option<u32>> =
            names.iter().map(|name| name.parse().ok().or_else(|| collector.find(name))).collect();
        let number = |(at, row): (usize, &u32)| {
            let missing = || {
                collector.unknown(column, &names[*row as usize]).at(Place::row(file, at as u64 + 1))
            };
            found[*row as usize].ok_or_else(missing)
        };
        rows.iter().enumerate().map(number).collect()
    }
}

/// Checks columns read from `file` as [`super::read_csv`] checks rows. Errors name the row, from 1.
pub fn from_columns(
    columns: &FlowColumns,
    file: &Path,
    options: &FlowListOptions<'_>,
    classes: &mut Classes,
) -> Result<Generated, TrafficError> {
    for name in &columns.others {
        refuse_misspelt(name, || Place::whole(file))?;
    }
    let rows = columns.start_ns.len();
    let lengths = [
        ("src", Some(columns.src.len())),
        ("dst", Some(columns.dst.len())),
        ("bytes", Some(columns.bytes.len())),
        ("id", columns.id.as_ref().map(Vec::len)),
        ("class", columns.class.as_ref().map(|(rows, _)| rows.len())),
        ("deadline_ns", columns.deadline_ns.as_ref().map(Vec::len)),
        ("dscp", columns.dscp.as_ref().map(Vec::len)),
        ("priority", columns.priority.as_ref().map(Vec::len)),
    ];
    for (column, length) in lengths {
        if length.is_some_and(|length| length != rows) {
            return Err(TrafficError::input(
                Place::whole(file).column(column),
                format!("{} rows", length.unwrap_or(0)),
                format!("{rows}, as in `start_ns`"),
            ));
        }
    }
    if rows == 0 {
        return Err(TrafficError::input(Place::whole(file), "no rows", "at least one flow"));
    }
    let mut collector = Collector::new(options, classes, columns.id.is_some());
    let (src, dst) = (
        columns.src.numbers("src", &collector, file)?,
        columns.dst.numbers("dst", &collector, file)?,
    );
    for index in 0..rows {
        let row = Row {
            start_ns: columns.start_ns[index],
            src: src[index],
            dst: dst[index],
            bytes: columns.bytes[index],
            id: columns.id.as_ref().map_or(0, |ids| ids[index]),
            class: columns
                .class
                .as_ref()
                .and_then(|(rows, names)| rows[index].map(|at| names[at as usize].as_str())),
            deadline_ns: columns.deadline_ns.as_ref().and_then(|deadlines| deadlines[index]),
            dscp: columns.dscp.as_ref().and_then(|values| values[index]),
            priority: columns.priority.as_ref().and_then(|values| values[index]),
        };
        collector.push(&row).map_err(|refused| refused.at(Place::row(file, index as u64 + 1)))?;
    }
    let others: Vec<&str> = columns.others.iter().map(String::as_str).collect();
    left_out(file, &others).into_iter().for_each(|note| collector.note(note));
    collector.finish(file, |id| {
        let ids = columns.id.as_deref().unwrap_or_default();
        Place::row(
            file,
            ids.iter().rposition(|other| *other == id).map_or(0, |index| index as u64 + 1),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> FlowColumns {
        let [src, dst] = [vec![0, 1], vec![1, 0]].map(HostColumn::Numbers);
        FlowColumns {
            start_ns: vec![9, 5],
            src,
            dst,
            bytes: vec![7, 8],
            id: Some(vec![3, 4]),
            ..FlowColumns::default()
        }
    }
    fn read(columns: &FlowColumns) -> Result<Generated, TrafficError> {
        from_columns(
            columns,
            Path::new("flows.parquet"),
            &FlowListOptions::new(2),
            &mut Classes::default(),
        )
    }

    #[test]
    fn sorted_with_identifiers_kept() {
        assert_eq!(
            read(&columns()).unwrap().flows.iter().map(|flow| flow.id).collect::<Vec<_>>(),
            [4, 3]
        );
    }

    #[test]
    fn other_columns_are_noted() {
        let others = ["fct_ns", "src_name"].map(String::from).to_vec();
        let notes = read(&FlowColumns { others, ..columns() }).unwrap().notes;
        let says = [
            "column fct_ns is not part of a flow list: left out",
            "column src_name repeats a host that `src` or `dst` names: left out",
        ];
        assert_eq!(notes, says.map(|note| format!("flows.parquet: {note}")));
    }

    #[test]
    fn errors_name_the_row() {
        type Change = fn(&mut FlowColumns);
        let broken: [(Change, &str); 6] = [
            (
                |c| c.others = vec!["dealine_ns".into()],
                "flows.parquet: found unknown column `dealine_ns`",
            ),
            (|c| c.bytes[1] = 0, "flows.parquet, row 2, column `bytes`"),
            (
                |c| c.dst = HostColumn::Numbers(vec![2, 0]),
                "row 1, column `dst`: found host 2, expected a host from 0 to 1",
            ),
            (|c| c.id = Some(vec![3, 3]), "row 2, column `id`"),
            (|c| c.src = HostColumn::Numbers(vec![0, 1, 0]), "column `src`: found 3 rows"),
            (|c| *c = FlowColumns::default(), "no rows"),
        ];
        for (change, says) in broken {
            let mut columns = columns();
            change(&mut columns);
            let error = read(&columns).unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
            assert_eq!(error.line(), None);
        }
    }
}
